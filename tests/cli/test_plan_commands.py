"""overlay arrange, adapt, evaluate, compare and draw: what they answer and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from commands import answered, call, refused, small_network, small_tree

from meshwright.files.overlays import write_overlay
from meshwright.files.plans import read_plan, write_plan
from meshwright.model.designs import candidates
from meshwright.model.evaluation import Evaluation
from meshwright.model.plan import PlanCost, Step
from meshwright.planning.arrangement.methods import METHODS

PLAN_KEYS = {
    "command", "seed", "plan", "summary", "moved", "steps", "cost", "reconfiguration_cost",
    "net_benefit",
}  # fmt: skip
PRICE_KEYS = {"against", "price", "saved", "is_at_a_loss"}
TRAFFIC_KEYS = {"content_subscriptions", "topics_unwanted", "filters_idle"}


def arrange(folder: Path, *more: str | Path, method: str = "best") -> tuple[str | Path, ...]:
    interests, rates = small_network(folder)
    return (
        "overlay", "arrange", "--geometry", "chord", "--method", method, "--interests", interests,
        "--rates", rates, "--out", folder / "plan.json", *more,
    )  # fmt: skip


@pytest.mark.parametrize("geometry", ["chord", "tapestry", "pastry", "quadtree"])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_plans_on_every_geometry(geometry: str, method: str, tmp_path: Path) -> None:
    document = answered(*arrange(tmp_path, "--geometry", geometry, method=method))
    plan = read_plan(tmp_path / "plan.json")
    assert set(document) == PLAN_KEYS | PRICE_KEYS | TRAFFIC_KEYS
    assert document["saved"] == document["net_benefit"]
    assert set(document["cost"]) == set(PlanCost.__struct_fields__)
    assert plan.target.design == geometry
    assert (document["moved"], document["net_benefit"]) == (plan.moved, plan.net_benefit)


def test_the_same_seed_writes_the_same_plan(tmp_path: Path) -> None:
    contents = []
    for _ in range(2):
        answered(*arrange(tmp_path, "--seed", "5", "--gross"))
        contents.append((tmp_path / "plan.json").read_bytes())
    assert contents[0] == contents[1]


def test_a_plan_goes_on_from_where_another_ends(tmp_path: Path) -> None:
    answered(*arrange(tmp_path, "--gross"))
    first = read_plan(tmp_path / "plan.json")
    write_overlay(first.target, tmp_path / "overlay.json")
    for today in ("overlay.json", "plan.json"):
        answered(*arrange(tmp_path, "--from", tmp_path / today, "--out", tmp_path / "next.json"))
        assert read_plan(tmp_path / "next.json").source == first.target


def test_a_plan_from_another_geometry_version_or_network_is_refused(tmp_path: Path) -> None:
    answered(*arrange(tmp_path))
    plan = json.loads((tmp_path / "plan.json").read_text())
    today = tmp_path / "today.json"
    words = arrange(tmp_path, "--from", today, "--out", tmp_path / "next.json")
    today.write_text(json.dumps(plan | {"version": 2}))
    assert "line 1: this plan has version 2; this program reads version 1" in refused(*words)
    today.write_text(json.dumps(plan["to"] | {"design": "pastry"}))
    assert f"error: {today}: The overlay to start from is of design 'pastry'" in refused(*words)
    today.write_text(json.dumps(plan["to"] | {"positions": None}))
    assert f"error: {today}: " in refused(*words)
    fewer = {name: plan["to"]["positions"][name] for name in ("b0", "b1")}
    today.write_text(
        json.dumps(plan["to"] | {"brokers": ["b0", "b1"], "links": [], "positions": fewer})
    )
    assert "interests.csv, line 6: broker 'b2' is not in the overlay" in refused(*words)
    assert not (tmp_path / "next.json").exists()


def test_adapting_a_tree_writes_a_better_tree(tmp_path: Path) -> None:
    tree, traffic = small_tree(tmp_path)
    document = answered(
        "overlay", "adapt", "--tree", tree, "--traffic", traffic, "--out", tmp_path / "plan.json"
    )
    plan = read_plan(tmp_path / "plan.json")
    assert set(document) == PLAN_KEYS
    assert plan.cost.after < plan.cost.before
    assert len(plan.target.links) == 3


def test_members_of_traffic_may_be_clients(tmp_path: Path) -> None:
    tree, traffic = small_tree(tmp_path)
    clients = tmp_path / "clients.csv"
    clients.write_text("client,broker\nc0,b0\nc1,b3\n")
    traffic.write_text("messages,members\n1000,c0;c1\n")
    words = ("overlay", "adapt", "--tree", tree, "--traffic", traffic, "--out", tmp_path / "p.json")
    assert "line 2: member 'c0' is no broker" in refused(*words)
    assert answered(*words, "--clients", clients)["moved"] > 0
    clients.write_text("client,broker\nc0,b9\n")
    assert "line 2: broker 'b9' is not in the tree" in refused(*words, "--clients", clients)


def test_weights_costs_and_clients_that_move_are_options_of_adapting(tmp_path: Path) -> None:
    tree, traffic = small_tree(tmp_path)
    clients, links = tmp_path / "clients.csv", tmp_path / "links.csv"
    brokers, out = tmp_path / "brokers.csv", tmp_path / "p.json"
    clients.write_text("client,broker\nc0,b0\nc1,b1\n")
    traffic.write_text("messages,members\n1000,c0;c1\n")
    words = (
        "overlay", "adapt", "--tree", tree, "--traffic", traffic, "--clients", clients, "--out", out
    )  # fmt: skip
    assert answered(*words)["cost"]["before"] == 1000 * (3 + 2)
    links.write_text("one,other,cost\nb1,b0,7\nb0,c0,2\n")
    brokers.write_text("broker,cost\nb1,4\n")
    costs = ("--link-costs", links, "--broker-costs", brokers, "--alpha", "3", "--beta", "2")
    document = answered(*words, *costs, "--move-clients", "--iterations", "9", "--moves", "9")
    assert document["cost"]["before"] == 1000 * (3 * (7 + 2 + 1) + 2 * (1 + 4))
    # Both meet at a broker where neither the dear link nor the dear broker is in between.
    assert document["cost"]["after"] == 1000 * (3 * (1 + 1) + 2 * 1)
    assert {move.client for move in read_plan(out).client_moves()} == {"c0", "c1"}
    links.write_text("one,other,cost\nb1,b9,7\n")
    assert "links.csv, line 2: 'b9' is no broker of the tree" in refused(*words, *costs)
    links.write_text("one,other,cost\nb1,b0,7\nb0,b1,7\n")
    assert "line 3: this link has a cost already" in refused(*words, *costs)


def test_what_is_no_tree_is_not_adapted(tmp_path: Path) -> None:
    tree, traffic = small_tree(tmp_path)
    tree.write_text(tree.read_text().replace('["b2", "b3"]', '["b2", "b3"],\n["b3", "b0"]'))
    words = ("overlay", "adapt", "--tree", tree, "--traffic", traffic, "--out", tmp_path / "p.json")
    assert "tree.json, line 5: the link of 'b3' and 'b0' closes a cycle" in refused(*words)
    tree.write_text('{"design": "tree", "brokers": ["b0"], "links": []}')
    assert "line 1: the overlay has only one broker" in refused(*words)


def test_an_evaluation_has_every_metric(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    tree, _ = small_tree(tmp_path)
    words = ("overlay", "evaluate", "--overlay", tree, "--interests", interests, "--rates", rates)
    document = answered(*words)
    assert set(document["evaluation"]) == set(Evaluation.__struct_fields__)
    assert document["evaluation"]["degree_mean"] == 1.5
    shown = call(*words)
    assert shown.exit_code == 0
    assert "1.5" in shown.stdout
    assert "…" not in shown.stdout


def test_an_evaluation_has_the_price_that_a_comparison_has(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    tree, _ = small_tree(tmp_path)
    files = ("--interests", interests, "--rates", rates, "--link-weight", "0.3")
    evaluated = answered("overlay", "evaluate", "--overlay", tree, *files)
    compared = answered("overlay", "compare", "--from", tree, *files)
    (now,) = (row for row in compared["designs"] if row["name"] == "now")
    assert evaluated["price_parts"] == now["price_parts"]
    assert evaluated["price"] == pytest.approx(sum(evaluated["price_parts"].values()))


def test_an_overlay_is_evaluated_with_its_own_brokers_and_design_only(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    tree, _ = small_tree(tmp_path)
    words = ("overlay", "evaluate", "--overlay", tree, "--interests", interests, "--rates", rates)
    interests.write_text(interests.read_text() + "b9,t0\n")
    assert "interests.csv, line 10: broker 'b9' is not in the overlay" in refused(*words)
    small_network(tmp_path)
    tree.write_text(tree.read_text().replace('"tree"', '"bush"'))
    assert f"error: {tree}, line 1: there is no design 'bush'" in refused(*words)
    chord = json.loads(tree.read_text()) | {"design": "chord"}
    for positions in (None, {"b0": 0, "b1": 1, "b2": 2, "b3": 2**40}):
        tree.write_text(json.dumps(chord | {"positions": positions}))
        assert f"error: {tree}: " in refused(*words)


def test_rates_and_interests_must_agree(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    for content, fault in (
        ("topic,publications\nt0,1\nt1,1\n", "interests.csv, line 7: topic 't2' has no rate"),
        ("topic,publications\nt0,-1\nt1,1\nt2,1\n", "rates.csv, line 2: publications '-1' is neg"),
        ("topic,publications\nt0,inf\nt1,1\nt2,1\n", "rates.csv, line 2: publications 'inf' is"),
        ("topic,publications,x\nt0,1,1\n", "rates.csv, line 1: the header has the extra 'x'"),
        ("", "rates.csv, line 1: the file is empty"),
    ):
        rates.write_text(content)
        assert fault in refused(*words)
    rates.unlink()
    assert "rates.csv: there is no such file" in refused(*words)


def test_a_published_topic_that_nobody_wants_is_told(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    rates.write_text("topic,publications\nt0,1\nt1,1\nt2,1\nt3,1\n")
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    assert answered(*words)["topics_unwanted"] == 1
    assert (
        "1 published topic is wanted by nobody; what it costs on its way is counted."
        in " ".join(call(*words).stdout.split())
    )


def test_filters_and_topics_that_no_broker_accepts_are_refused_in_tables(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    standing = interests.read_text()
    for wanted in ("s/#/x", "s#", "$share//s"):
        interests.write_text(f"{standing}b3,{wanted}\n")
        assert f"interests.csv, line 10: {wanted!r} is no filter" in refused(*words)
    interests.write_text(standing)
    rates.write_text(f"{rates.read_text()}s/#,1\n")
    sentence = refused(*words)
    assert "rates.csv, line 5: 's/#' is no topic that anybody publishes to" in sentence


def test_a_filter_that_takes_nothing_is_told(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    interests.write_text(f"{interests.read_text()}b2,s/#\nb3,s/#\nb3,+\n")
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    assert answered(*words)["filters_idle"] == 1
    told = " ".join(call(*words).stdout.split())
    assert "1 filter takes no topic that is known here" in told


def test_every_design_is_compared_with_a_sentence(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    document = answered(*words)
    assert {row["name"] for row in document["designs"]} == {*candidates(), "mesh", "star"}
    assert document["recommended"] == document["designs"][0]["name"]
    prices = [row["price"] for row in document["designs"] if row["fits"]]
    assert prices == sorted(prices)
    for row in document["designs"]:
        assert row["sentence"].startswith(row["name"])
        assert sum(row["price_parts"].values()) == pytest.approx(row["price"])
        assert set(row) == {
            *("name", "evaluation", "seconds", "fits", "is_tie", "price", "price_parts"),
            "sentence",
        }
    shown = call(*words, "--k", "2").stdout
    assert all(f"\n {name} " in shown for name in candidates())


def test_a_comparison_of_some_designs_gives_them_the_same_figures(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    everything = {row["name"]: row for row in answered(*words)["designs"]}
    some = answered(*words, "--designs", "tree, cycle")["designs"]
    assert {row["name"] for row in some} == {"cycle", "tree", "mesh", "star"}
    assert all(row["evaluation"] == everything[row["name"]]["evaluation"] for row in some)
    assert "There is no design 'bush'" in refused(*words, "--designs", "tree,bush")
    assert "k = 9" in refused(*words, "--k", "9")
    assert "where 2 are allowed" in call(*words, "--degree-max", "2").stdout
    assert "where 0.0 is allowed" in call(*words, "--load-spread-max", "0").stdout


def test_where_nothing_stands_the_plan_builds_what_is_recommended(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    plan = tmp_path / "plan.json"
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    document = answered(*words, "--designs", "chord", "--out-plan", plan)
    made = read_plan(plan)
    assert made.source.links == ()
    assert {step.action for step in made.steps} == {"add_link"}
    assert len(made.steps) == len(made.target.links)
    told = " ".join(call("plan", "show", plan).stdout.split())
    assert "gets worse" not in told
    assert f"No link stands: {document['recommended']} builds {len(made.steps)} links" in told
    assert "Once it is built a publication costs" in told
    assert "before" not in told


def test_a_plan_difference_shows_both_sides_and_what_nothing_stands_before(
    tmp_path: Path,
) -> None:
    interests, rates = small_network(tmp_path)
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    answered(*words, "--designs", "chord", "--load-spread-max", "9", "--out-plan", one)
    made = read_plan(one)
    client = {"action": "move_client", "why": "so.", "algorithm": "similarity", "before": 0.0}
    for path, target, design in ((one, "b1", "gm"), (other, "b2", "mesh")):
        moves = tuple(
            Step(brokers=(f"c{number}-{target}", f"b{number % 9}", target), metric="clients",
                 after=1.0, **client)
            for number in range(9)
        )  # fmt: skip
        bare = msgspec.structs.replace(made.source, design=design)
        write_plan(msgspec.structs.replace(made, source=bare, steps=moves), path)
    told = call("plan", "diff", one, other, "--lines", "4").stdout
    assert "different overlays" not in told
    assert told.count("\n- client") == told.count("\n+ client") == 2
    assert "-      and 6 lines more" in told
    assert "+      and 6 lines more" in told
    assert "nothing stands before" in told


def test_a_plan_to_what_is_wished_and_costs_more_is_not_written_unless_forced(
    tmp_path: Path,
) -> None:
    interests, rates = small_network(tmp_path)
    today, plan = tmp_path / "today.json", tmp_path / "plan.json"
    files = ("--interests", interests, "--rates", rates)
    answered("overlay", "build", "--design", "gm", "--out", today, *files)
    costly = ("--k", "2", "--link-weight", "10")
    words = ("overlay", "compare", *files, "--designs", "gm2", *costly, "--from", today)
    document = answered(*words, "--out-plan", plan, exit_code=1)
    assert document["is_at_a_loss"]
    assert not plan.exists()
    told = " ".join(call(*words, "--out-plan", plan).stdout.split())
    assert "But to go there is a loss; before is now (gm), which stands." in told
    assert "No plan was written; --force writes it all the same." in told
    assert call(*words).exit_code == 0  # it is said all the same
    assert answered(*words, "--out-plan", plan, "--force")["files"] == {"plan": str(plan)}


def test_where_no_design_fits_nothing_is_written_and_that_is_told(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    out = tmp_path / "overlay.json"
    words = ("overlay", "compare", "--interests", interests, "--rates", rates)
    result = call(*words, "--degree-max", "1", "--out", out)
    told = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert not out.exists()
    assert "No design fits: allow more links or a larger load spread. Nothing was written." in told
    assert (
        "No design fits: want a lower k, or" in call(*words, "--degree-max", "1", "--k", "2").stdout
    )


def test_silence_is_evaluated_too(tmp_path: Path) -> None:
    interests, rates = small_network(tmp_path)
    rates.write_text("topic,publications\nt0,0\nt1,0\nt2,0\n")
    document = answered("overlay", "compare", "--interests", interests, "--rates", rates)
    assert all(row["evaluation"]["cost"] == 0 for row in document["designs"])


@pytest.mark.parametrize("name", ["tree.svg", "tree.png"])
def test_a_drawing_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    interests, _ = small_network(tmp_path)
    tree, _ = small_tree(tmp_path)
    words = ("overlay", "draw", "--overlay", tree, "--interests", interests, "--out")
    contents = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        document = answered(*words, tmp_path / folder / name)
        assert (document["brokers"], document["links"]) == (4, 3)
        contents.append(Path(document["picture"]).read_bytes())
    assert contents[0] == contents[1]
