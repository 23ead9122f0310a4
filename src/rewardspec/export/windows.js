// The extremum of the last values, at a cost per step that does not grow with their number. Nothing is written over.
// `better` compares as the window does, `worse` the other way round; `oldest` gives the oldest value instead.
function slidingWindow(length, better, worse, neutral, identity, oldest) {
  const half = length - Math.floor(length / 2);
  const bounded = (x, guard) => (worse(guard, x) ? guard : x);
  const empty = {
    place: 0, back: null, extremum: neutral, front: null, total: neutral, waiting: null, turned: null,
    later: identity, earlier: identity, inside: identity,
  };
  function read(w) {
    let x = w.total;
    if (w.front !== null) {
      const other = bounded(w.front[0], w.earlier);
      if (oldest || better(other, x)) x = other;
    }
    x = bounded(x, w.later);
    return !oldest && better(w.extremum, x) ? w.extremum : x;
  }
  function push(w, value, guard = identity) {
    if (length === 1) return { ...empty, front: [value, null] };
    let { place, extremum, waiting, turned, later, inside } = w;
    if (waiting !== null) {
      let other = bounded(waiting[0], inside);
      inside = bounded(inside, waiting[1]);
      waiting = waiting[2];
      if (!oldest && better(turned[0], other)) other = turned[0];
      turned = [other, turned];
    }
    extremum = bounded(extremum, guard);
    later = bounded(later, guard);
    if (!oldest && better(value, extremum)) extremum = value;
    place += 1;
    if (place === half || place === length) {
      return {
        place: place % length, back: null, extremum: neutral, front: turned, total: extremum, waiting: w.back,
        turned: [value, null], later: identity, earlier: later, inside: guard,
      };
    }
    return {
      place, back: [value, guard, w.back], extremum, front: w.front === null ? null : w.front[1], total: w.total,
      waiting, turned, later, earlier: w.earlier, inside,
    };
  }
  // Every value that the window holds, oldest first; newer ones stand for those that they hide.
  function contents(w) {
    const newest = [], inner = (x, guard) => (worse(x, guard) ? x : guard);
    const last = () => newest[newest.length - 1];
    const add = (x) => newest.push(oldest || newest.length === 0 || !better(last(), x) ? x : last());
    const listed = (chain) => { const all = []; for (let node = chain; node !== null; node = node[1]) all.push(node[0]); return all.reverse(); };
    let bound = identity, inside = w.inside;
    for (let node = w.back; node !== null; node = node[2]) {
      add(inner(node[0], bound));
      bound = inner(bound, node[1]);
    }
    for (const x of listed(w.turned)) add(inner(x, w.later));
    for (let node = w.waiting; node !== null; node = node[2]) {
      add(inner(node[0], inner(inside, w.later)));
      inside = inner(inside, node[1]);
    }
    for (const x of listed(w.front)) add(inner(x, inner(w.earlier, w.later)));
    const rest = oldest || newest.length === 0 ? neutral : last();
    while (newest.length < length) newest.push(rest);
    return newest.reverse();
  }
  const held = (w, best) => contents(w).reduce((a, b) => (best(b, a) ? b : a));
  return { empty, read, push, contents, held };
}

const larger = (a, b) => a > b;
const smaller = (a, b) => a < b;
