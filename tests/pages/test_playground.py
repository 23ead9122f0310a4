"""The playground: what Python answers, and whom the server answers."""

import http.client
import json
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import rewardspec as rs
from rewardspec.cli import main
from rewardspec.pages import play_server, play_worker, playground
from rewardspec.pages.play_worker import BusyError, Worker
from rewardspec.spec.toml_reading import loads_spec
from tests.pages.fuzz_server import fuzz


@pytest.fixture(scope="module")
def server():
    with play_server.PlayServer(rs.Spec([("F goal", 2)], payment="delta")) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield serving
        serving.shutdown()


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body=body, headers=sent)
    response = connection.getresponse()
    content = response.read().decode()
    connection.close()
    return response, content


def compiled(*formulas, **options):
    return playground.answer({"pairs": [{"formula": formula, "weight": 1} for formula in formulas], **options})


def test_the_page_and_its_files_are_served(server):
    for path in play_server._FILES:
        response, content = ask(server, "GET", path)
        assert response.status == 200
        assert content
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    response, content = ask(server, "GET", "/first")
    first = json.loads(content)
    assert (first["pairs"][0]["formula"], first["pairs"][0]["weight"], first["payment"]) == ("F goal", 2.0, "delta")
    assert all(len(labels) == one["length"] for one in first["examples"] for labels in one["signals"].values())
    assert {"text": "always", "words": "at every step: a"} in first["completions"]


def test_a_question_is_answered(server):
    question = json.dumps({"pairs": [{"formula": "G(a -> F b)", "weight": 1}]})
    response, content = ask(server, "POST", "/compile", question, Content_Type="application/json")
    assert response.status == 200
    assert json.loads(content)["pairs"][0]["words"] == "at every step: if a then sooner or later: b"
    response, content = ask(server, "POST", "/automaton", '"F a"', Content_Type="application/json")
    assert "</svg>" in json.loads(content)["svg"]
    response, content = ask(
        server, "POST", "/toml", json.dumps('pairs = [["F x", 3]]'), Content_Type="application/json"
    )
    assert json.loads(content)["pairs"][0]["formula"] == "F x"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Length": "999999999"}, 413),
        ({"Transfer_Encoding": "chunked"}, 411),
    ],
)
def test_others_are_refused(server, headers, status):
    response, content = ask(server, "POST", "/compile", "{}", **({"Content_Type": "application/json"} | headers))
    assert response.status == status
    assert "<" not in content


def test_its_own_page_is_not(server):
    port = server.server_address[1]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
        response, _ = ask(server, "GET", "/", Host=host, Origin=f"http://{host}", Sec_Fetch_Site="same-origin")
        assert response.status == 200


@pytest.mark.parametrize(("path", "status"), [("/../secrets", 404), ("/playground.py", 404), ("/compile", 404)])
def test_nothing_else_is_served(server, path, status):
    assert ask(server, "GET", path)[0].status == status


def test_malformed_requests_are_refused_cleanly():
    statuses, wrong, _ = fuzz(120, seed=3)
    assert wrong == []
    assert statuses["400"]
    assert "closed" not in statuses


def test_errors_are_told_with_their_place():
    (wrong, right) = compiled("G(a -> ", "F a")["pairs"]
    assert (wrong["error"]["line"], wrong["error"]["column"]) == (1, 7)
    assert "^" in wrong["error"]["message"]
    assert right["error"] is None
    assert right["machine"]["equations"] == [["max[a] ← max(max[a], a)", "value = max[a]′"]]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("a" * 1001, "up to 1,000 characters"),
        ("!" * 160 + "a", "up to 150 operators"),
        ("F[0,2000] a & X b", "up to 2,000 steps"),
        ("F{70}(a & X b)", "more than 64 registers"),
    ],
)
def test_formulas_past_the_effort_are_refused(formula, message):
    (told,) = compiled(formula)["pairs"]
    assert message in told["error"]["message"]


@pytest.mark.parametrize(
    "request_",
    [
        None,
        {},
        {"pairs": {}},
        {"pairs": [1]},
        {"pairs": [{}] * 13},
        {"pairs": [], "penalty": "x"},
        {"pairs": [], "penalty": 1e300},
        {"pairs": [], "payment": ["value"]},
        {"pairs": [], "payment": "nothing"},
        {"pairs": [], "semantics": "x"},
        {"pairs": [], "discount": 2},
    ],
)
def test_odd_requests_are_refused(request_):
    with pytest.raises(rs.SpecError):
        playground.answer(request_)


def test_a_spec_is_copied_as_python_and_toml():
    pairs = [
        rs.Pair("G !crash", 1 / 3, penalty=-5, name="safe"),
        rs.Pair("F goal", 2, payment="value"),
        rs.Pair("G[0,3] a", 1, veto=False),
        rs.Pair("G !b", 1, veto=True, penalty=0),  # and not that of the spec
    ]
    spec = rs.Spec(pairs, payment="potential", discount=0.9, penalty=-1)
    assert_copied(spec)
    assert_copied(rs.Spec([("F a", 0), rs.Pair("G b", 1, progress=False)], semantics="robustness", bound=2))


def assert_copied(spec):
    """The Python and the TOML that the playground shows make the same spec."""
    found = playground.answer(playground.request_of(spec))
    names = {"rs": rs}
    code = found["python"].replace("import rewardspec as rs\n", "")
    exec(compile(code, "copied", "exec"), names)
    assert names["spec"] == spec
    assert loads_spec(found["toml"]) == spec


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_the_reward_that_is_shown_is_within_the_bound(tmp_path):
    text = 'semantics = "robustness"\nbound = 2\npairs = [["F a", 1, false], ["F[2,5] a", 1, false]]\n'
    content = playground.content_of_toml(text)
    answer = playground.answer(content)
    assert (content["bound"], content["further"], answer["lint"]) == (2.0, {}, [])
    assert loads_spec(answer["toml"]) == loads_spec(text)
    (tmp_path / "machines.mjs").write_text(answer["module"])
    steps = "let s = specs.value.start({a: 0}); s = specs.value.step(s, {a: 5}, {}); console.log(s.reward);"
    (tmp_path / "run.mjs").write_text(f"import {{ specs }} from './machines.mjs'; {steps}")
    told = subprocess.run(["node", str(tmp_path / "run.mjs")], capture_output=True, text=True, check=True).stdout
    spec = loads_spec(text)
    assert float(told) == spec.step(spec.start({"a": 0.0}), {"a": 5.0})[1] == 0.0  # 2 and -2


@pytest.mark.parametrize(("bound", "message"), [(0, "above 0"), ("2", "a finite number"), (1e10, "a billion")])
def test_a_bound_of_another_kind_is_refused(bound, message):
    with pytest.raises(rs.SpecError, match=message):
        compiled("F a", semantics="robustness", bound=bound)


def test_an_infinite_bound_cannot_be_shown():
    with pytest.raises(rs.SpecError, match="finite `bound`"):
        playground.content_of_toml('semantics = "robustness"\nbound = inf\npairs = [["F a", 1]]\n')


def test_a_spec_file_is_copied_with_its_atoms():
    text = (
        'payment = "delta"\nclip = true\nobservation = ["x", "v"]\npairs = [["F fast", 2], ["G calm", 1]]\n\n[atoms]\n'
        'fast = "v > 1"\ncalm = { expression = "abs(v) < 3", at_reset = 1 }\n'
    )
    content = playground.content_of_toml(text)
    assert playground.first_content(rs.Spec([("F fast", 2)]), content["further"])["further"] == content["further"]
    assert loads_spec(playground.answer(content)["toml"]) == loads_spec(text)
    names = {}
    exec(compile(playground.answer(content)["python"], "copied", "exec"), names)
    assert names["spec"] == loads_spec(text)
    assert names["spec"].atom_functions["fast"].text == "v > 1"
    content["pairs"].pop()
    assert loads_spec(playground.answer(content)["toml"]).atom_functions["fast"].text == "v > 1"


def test_an_atom_that_the_opened_file_does_not_have_is_told_as_check_does():
    content = playground.content_of_toml(
        'observation = ["v"]\natoms.crashed = "v > 3"\npairs = [["G !crashed", 1], [\'F "v > 1"\', 1]]\n'
    )
    assert playground.answer(content)["lint"] == []
    content["pairs"][0]["formula"] = "G !crashd"
    told = {finding["rule"]: finding for finding in playground.answer(content)["lint"]}
    assert told["undefined-atom"]["remedy"] == "Did you mean 'crashed'?"
    assert set(told) == {"undefined-atom", "unused-atom"}
    assert compiled("G !crashd")["lint"] == []  # without a file, any name will do


def test_a_spec_with_a_formula_that_cannot_be_read_is_not_said_to_look_right():
    assert compiled("G(a ->", "F b")["unlinted"] == "Pair 1 has an error."
    assert compiled("F b", "G(a ->", "F")["unlinted"] == "Pairs 2, 3 have errors."
    assert compiled("F b")["unlinted"] is None


def test_texts_in_a_spec_file_stay_what_they_are_in_python():
    name = 'a\\b """ c'
    content = playground.request_of(rs.Spec([rs.Pair("F near", 1, name=name)]), {"atoms": {"near": "next_obs[0] > 1"}})
    names = {}
    exec(compile(playground.answer(content)["python"], "copied", "exec"), names)
    assert names["spec"].names == (name,)


@pytest.mark.parametrize("further", ["atoms", {"atom": {}}, {"atoms]\npairs": 1}])
def test_other_entries_than_those_of_a_spec_file_are_not_copied(further):
    found = playground.answer(playground.request_of(None) | {"further": further})
    assert found["toml"] is None
    assert found["error"]


def test_nothing_typed_becomes_code():
    evil = '"];alert(1)//</script>'
    found = compiled(f"F {rs.Atom(evil)}")
    assert found["pairs"][0]["atoms"] == [evil]
    assert evil not in found["module"]
    assert "</script" not in found["module"]


def test_the_playground_ends_at_an_interrupt():
    # Where the tests run in the background, a shell has told them to ignore interrupts, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    command = [sys.executable, "-m", "rewardspec", "play", "F goal", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        signal.signal(signal.SIGINT, before)
        try:
            assert process.stdout.readline().startswith("The playground is at http://127.0.0.1:")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()


def test_what_cannot_be_played_is_told(tmp_path, capsys):
    assert main(["play", "G (", "--no-browser"]) == 2
    assert main(["play", "spec.tml", "--no-browser"]) == 2
    assert "A spec file's name ends in .toml" in capsys.readouterr().err
    assert main(["play", str(tmp_path / "none.toml"), "--no-browser"]) == 2
    assert main(["play", "--port", "70000"]) == 2


def test_time_that_other_programs_take_does_not_count():
    worker = Worker(seconds=0.9, waiting=60.0)
    try:
        assert "</svg>" in worker.ask("/automaton", "F a")["svg"]
        process = worker._process
        threading.Timer(1.2, process.send_signal, [signal.SIGCONT]).start()
        process.send_signal(signal.SIGSTOP)  # as if the machine had other work
        assert "</svg>" in worker.ask("/automaton", "F b")["svg"]
        assert worker._process is process
    finally:
        worker.close()


def test_a_question_that_takes_too_long_is_ended_and_the_next_is_answered():
    worker = Worker(waiting=0.05, command=[sys.executable, "-c", "import sys; sys.stdin.read()"])  # never answers
    try:
        first = worker._process
        for _ in range(2):
            with pytest.raises(BusyError, match="The machine may be busy with other work"):
                worker.ask("/compile", {"pairs": []})
        assert first.returncode is not None
        worker.waiting, worker._command = 60.0, play_worker._COMMAND
        worker._end()
        worker._process = worker._started()
        assert "</svg>" in worker.ask("/automaton", "F a")["svg"]
    finally:
        worker.close()
    assert worker._process.returncode is not None


def test_questions_do_not_queue_without_end(server):
    with server.worker._at_work:  # as another question does
        before, server.worker.waiting = server.worker.waiting, 0.0
        question = json.dumps({"pairs": []})
        response, content = ask(server, "POST", "/compile", question, Content_Type="application/json")
        server.worker.waiting = before
    assert (response.status, "Try again" in content) == (503, True)


def test_the_limit_is_one_for_all_formulas_of_a_question(monkeypatch, server):
    monkeypatch.setattr(server.worker, "seconds", 1e-3)
    pairs = [{"formula": f"F(a & F[0,{150 + k}] G[0,50] b)", "weight": 1} for k in range(12)]
    response, content = ask(server, "POST", "/compile", json.dumps({"pairs": pairs}), Content_Type="application/json")
    assert (response.status, "Take fewer of them" in content) == (422, True)
    monkeypatch.undo()
    assert ask(server, "POST", "/automaton", '"F a"', Content_Type="application/json")[0].status == 200


def test_what_is_nested_too_deeply_or_too_large_is_refused(monkeypatch):
    for error in (RecursionError, OverflowError, MemoryError):

        def fail(request, error=error):
            raise error

        monkeypatch.setitem(play_worker.QUESTIONS, "/compile", fail)
        assert set(play_worker.reply_to("/compile", {})) == {"refused"}


@pytest.mark.parametrize("example", playground.first_content(None)["examples"], ids=lambda example: example["title"])
def test_an_example_shows_what_its_formulas_are_about(example):
    spec = rs.Spec.from_toml(playground.answer(playground.request_of(None) | example)["toml"])
    assert set(spec.atoms) == set(example["signals"])
    for pair in spec.pairs:
        values = rs.synthesize(pair.formula).run({atom: example["signals"][atom] for atom in pair.formula.atoms})
        assert len(set(values.tolist())) > 1, pair  # its curve is not flat


def test_the_first_trace_is_that_of_the_first_example():
    first = playground.first_content(None)
    assert first["signals"] == first["examples"][0]["signals"]


def test_the_first_trace_of_a_users_spec_violates_nothing_at_reset():
    spec = rs.Spec([("G !crash", 1), ("G upright", 1), ("F goal", 2), ("G(low -> F[0,9] charging)", 1)])
    signals = playground.first_content(spec)["signals"]
    assert {atom: len(labels) for atom, labels in signals.items()} == dict.fromkeys(spec.atoms, 100)
    state = spec.start({atom: labels[0] for atom, labels in signals.items()})
    for k in range(1, 100):
        state, _ = spec.step(state, {atom: labels[k] for atom, labels in signals.items()})
    assert not spec.violated(state)
    assert set(signals["goal"]) == {0.0, 1.0}
    assert set(signals["crash"]) == {0.0}


@pytest.mark.parametrize("things", [3, "names"])
def test_formulas_about_things_are_shown_for_one_of_them(things):
    spec = rs.Spec([("forall x: G !a(x)", 1), ("F b", 2)], sorts={"x": things})
    with_atoms = spec.replace(atoms={"a": lambda *_: [0, 0, 0], "b": lambda *_: 0})
    content = playground.first_content(with_atoms)
    assert set(content["signals"]) == {"a(x)", "b"}
    assert set(content["signals"]["a(x)"]) == {0.0}  # it violates nothing
    assert playground.content_of_toml(spec.to_toml()) == playground.request_of(spec, {"sorts": {"x": things}})
    answer = playground.answer(content)
    about_things, other = answer["pairs"]
    assert (about_things["error"], about_things["thing"], about_things["vetoes"]) == (None, "x", True)
    assert about_things["atoms"] == ["a(x)"]
    assert about_things["machine"]["equations"]
    assert (other["error"], other["thing"]) == (None, None)
    assert (answer["error"], answer["lint"]) == (None, [])
    assert rs.Spec.from_toml(answer["toml"]) == spec
    assert "rs.Spec.from_toml" in answer["python"]


def test_a_sort_that_no_file_declares_has_one_thing():
    answer = playground.answer({"pairs": [{"formula": "exists box: F open(box)", "weight": 1}]})
    assert rs.Spec.from_toml(answer["toml"]).sorts == {"box": ("0",)}


def test_sorts_of_another_kind_are_refused():
    asked = {"pairs": [{"formula": "exists box: F open(box)", "weight": 1}], "further": {"sorts": {"box": -1}}}
    assert "from 1 to 1,000" in playground.answer(asked)["error"]
