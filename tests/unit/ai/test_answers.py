"""Answers without a model: what is asked for, in four languages, and the sentences that say it."""

import json

import pytest

from reedbed.ai.answer_types import inquire, search_terms
from reedbed.ai.answers import Answer, answer, best_passages, excerpt
from reedbed.ai.responses import numbers_of, read_answer
from reedbed.domain.questions import CitablePassage

BRIDGE = (
    "The council of Marrowby voted on Sunday to close the swing bridge. The repair costs 18.4 million pounds. "
    "It was closed because a bearing had cracked. Mayor Edda Holm opened the debate."
)
FERRY = "The harbour ferry to Oldham Quay carries 140 people. The last boat leaves at 9 pm, the operator said."


def _passage(id_: int, text: str, title: str = "A report", language: str = "en") -> CitablePassage:
    return CitablePassage(id_, title, text, feed_id=id_, feed="Feed", at=id_, language=language)


def _told(question: str, *texts: str) -> Answer:
    return answer(inquire(question), [_passage(number, text) for number, text in enumerate(texts, 1)], {})


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How much does the repair cost?", "amount"),
        ("How long is the bridge closed?", "duration"),
        ("How many people fit on the ferry?", "number"),
        ("When does the last boat leave?", "date"),
        ("Who opened the debate?", "person"),
        ("Where was the vote?", "place"),
        ("Why was the bridge closed?", "cause"),
        ("Was kostet die Reparatur?", "amount"),
        ("Wie lange bleibt die Brücke gesperrt?", "duration"),
        ("Wann fährt das letzte Boot?", "date"),
        ("Combien de personnes ?", "number"),
        ("Pourquoi le pont est-il fermé ?", "cause"),
        ("¿Cuándo sale el último barco?", "date"),
        ("In how many cities is it sold?", "number"),
        ("Ab wann fährt das Boot?", "date"),
        ("¿En cuántos países se vende?", "number"),
        ("How many weeks does the repair take?", "duration"),
        ("Combien de jours la réparation dure-t-elle ?", "duration"),
        ("What is the name of the mayor of Marrowby?", "person"),
        ("Wie heißt die neue Bürgermeisterin von Marrowby?", "person"),
        ("Comment s'appelle le maire de Marrowby ?", "person"),
        ("¿Cómo se llama el alcalde de Marrowby?", "person"),
        ("Wie heißt das neue Museum?", "thing"),
        ("Did it rain?", "any"),
    ],
)
def test_a_question_says_what_it_asks_for(question: str, kind: str) -> None:
    assert inquire(question).kind == kind


def test_names_and_numbers_must_occur() -> None:
    assert inquire("What does the Orbit Phone 9 cost?").focus == {"orbi", "phon", "9"}
    assert inquire("Was verlangen die Erzieherinnen in Torhafen?").focus == {"torhaf"}
    assert _told("How much does the repair in Northgate cost?", BRIDGE).claims == ()


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("How much does the repair of the bridge cost?", "The repair costs 18.4 million pounds."),
        ("Why was the bridge in Marrowby closed?", "It was closed because a bearing had cracked."),
        ("Who opened the debate about the bridge?", "Mayor Edda Holm opened the debate."),
        ("How many people does the ferry carry?", "The harbour ferry to Oldham Quay carries 140 people."),
        ("When does the last ferry leave?", "The last boat leaves at 9 pm, the operator said."),
    ],
)
def test_the_sentence_that_holds_what_is_asked_for_comes_first(question: str, sentence: str) -> None:
    assert _told(question, BRIDGE, FERRY).claims[0].text == sentence


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many vulnerabilities does the update close?", "The update closes 71 holes and weaknesses in Windows."),
        ("How long did the probe travel to Mercury?", "The probe reached Mercury after a journey of eight years."),
        (
            "When were Japanese interest rates last raised?",
            "Japan raised its interest rate on 4 March for the last time.",
        ),
        ("How heavy is the Orbit phone?", "The phone of Orbit weighs 298 grams."),
        ("Combien de gares compte la ligne 15 ?", "La ligne 15 compte seize gares."),
        ("Who replaces Gordon Hale?", "Ruth Calloway takes over from Gordon Hale."),
        ("When can people buy the Orbit Phone?", "The Orbit Phone goes on sale on 20 November."),
        ("When was Telvia working again?", "Telvia was back to normal by 10 a.m. on Friday."),
        ("How old is the bridge of Marrow?", "The bridge of Marrow was built in 1886."),
        ("How many people were hurt in Corvo?", "Nobody was hurt in the crash in Corvo, the police reported."),
        ("How long is the crack in Reykjanes?", "The crack in Reykjanes is about 700 metres long."),
        ("In which countries is the ferry tested?", "The ferry was tested in Ghana and Mali for a whole year."),
        ("How far is the comet?", "The comet is two million miles away."),
        ("Qui remplace Agnès Vautrin ?", "Le médecin Julien Maret a été nommé au lendemain du départ d'Agnès Vautrin."),
        ("Wer sucht den Luchs?", "Tierärztin Jana Petersen fahndete nach dem Luchs, den viele suchen."),
        ("¿Cuántos hogares están sin luz?", "Unas 600.000 viviendas pasaron la noche sin electricidad."),
        ("Какой длины новый мост через Иртыш?", "Новый мост через Иртыш длиной 1,3 километра открыт."),
        ("When were Japanese interest rates last this high?", "Japan's interest rate was last this high in 1995."),
    ],
)
def test_an_answer_in_other_words_is_found(question: str, text: str) -> None:
    assert [claim.text for claim in _told(question, BRIDGE, text).claims] == [text]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many seats did D66 win?", "The party D66 won 26 seats."),
        ("Where did COP30 take place?", "The summit COP30 ended in Belem."),
        ("Who lost against Edda Holm?", "Edda Holm was elected on Tuesday, beating Jack Ciatt by 13 points."),
        ("Wohin wurden die Kranken geflogen?", "Ein Hubschrauber flog sie in die Klinik nach Kempten."),
        ("Wer fand das Bild von Gabriele Münter?", "Eine Rentnerin hat das Bild von Gabriele Münter gefunden."),
        ("Combien d'employés compte Ardenne ?", "Ardenne emploie 640 personnes à Charleville."),
    ],
)
def test_other_forms_and_names_with_digits_are_found(question: str, text: str) -> None:
    assert [claim.text for claim in _told(question, BRIDGE, text).claims] == [text]


def test_why_is_answered_with_the_sentence_after() -> None:
    text = "The decision about the footbridge was put off. The railway needs another survey."
    assert [claim.text for claim in _told("Why was the decision about the footbridge put off?", text).claims] == [
        "The decision about the footbridge was put off.",
        "The railway needs another survey.",
    ]


def test_a_headline_is_not_quoted_beside_the_sentence_of_its_entry() -> None:
    passage = _passage(1, "A faulty fryer caused the fire at the Granary, police said.", "Granary fire: fryer to blame")
    found = answer(inquire("What caused the fire at the Granary?"), [passage], {})
    assert [claim.text for claim in found.claims] == ["A faulty fryer caused the fire at the Granary, police said."]


def test_a_weight_is_no_other_number() -> None:
    assert (
        _told("How heavy is the Orbit phone?", "The phone of Orbit has a heavy price: it costs 2,499 euros.").claims
        == ()
    )


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many people were hurt on the Noto peninsula?", "People on the Noto peninsula felt a quake of 6.4."),
        ("How many people died in Corvo?", "Signals in Corvo, where people died, had failed eleven times."),
        ("What does the Orbit phone cost?", "The price of shares in Orbit, which makes the phone, rose 4 percent."),
        ("What does the Orbit phone cost?", "Orbit expects that 11 million phones are sold at this price."),
        ("Who was the pilot of the Norvind flight?", "The pilot of the Norvind flight from Oslo landed in Halifax."),
        ("Who founded Calder Pharma?", "A jury in Ohio found that Calder Pharma had hidden the risks."),
        (
            "Why did the finance minister of Valdoria resign?",
            "The first woman of Valdoria resigned because of a fraud.",
        ),
        ("How many goals did Brazil score?", "COP30 ended in Brazil, but without a roadmap."),
        ("How many goals did Ines Moreau score last season?", "Ines Moreau scored two goals for Calder on Friday."),
        ("Qui a reçu le prix Corvo l'année dernière ?", "Nora Belin a reçu mercredi le prix Corvo."),
        ("Who is the new head of Calder Pharma?", "The head of Calder Pharma, Lena Storm, met reporters on Friday."),
        ("Wie hoch ist der Hochvogel?", "Am Hochvogel starben am Sonntag drei Skifahrer."),
        ("Wann wurde Gabriele Münter geboren?", "Das Museum zeigt ab dem 12. März ein Bild von Gabriele Münter."),
        ("Wie lang ist die Elmtalbrücke?", "Die Umleitung über die Bahnhofstraße führt 27 Kilometer weit."),
        ("Wie lang ist die Elmtalbrücke?", "Die Elmtalbrücke kostet Firmen 1,2 Millionen Euro am Tag."),
    ],
)
def test_what_is_near_the_answer_is_none(question: str, text: str) -> None:
    assert _told(question, "The finance committee and the minister met.", text).claims == ()


def test_somebody_new_and_a_time_before_the_reports_are_found_where_they_are_told() -> None:
    new = "Calder Pharma has named Lena Storm head of the company."
    assert _told("Who is the new head of Calder Pharma?", new).claims != ()
    before = "Ines Moreau scored 21 goals last season."
    assert _told("How many goals did Ines Moreau score last season?", before).claims != ()


def test_a_month_in_the_question_need_not_stand_in_the_answer() -> None:
    found = _told("How many holes did Orbit close in November?", "Orbit has closed 71 holes in its phones.")
    assert found.claims != ()


def test_a_short_stem_and_a_country_are_searched_for_as_words() -> None:
    assert "noto" in search_terms(inquire("Who lives in Noto?"))
    assert "japa" in search_terms(inquire("How high are Japanese rates?"))


def test_what_is_not_told_is_not_answered_and_the_nearest_entry_is_named() -> None:
    found = _told("How old is the captain of the ferry?", BRIDGE, FERRY)
    assert (found.claims, found.nearest, found.missing) == ((), (2,), ("captain",))


def test_the_same_sentence_of_two_entries_is_told_once_with_both() -> None:
    found = _told("How much does the repair of the bridge cost?", BRIDGE, BRIDGE)
    assert found.claims[0].entry_ids == (1, 2)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("orbit phone price", "amount"),
        ("tarrano quake how many dead", "number"),
        ("age of the arrested man", "number"),
        ("reason for the delay", "cause"),
        ("How did the fire start?", "cause"),
        ("Um wie viel Uhr beginnt das Konzert?", "date"),
        ("Gegen wen spielt Bremen?", "person"),
        ("Quelle somme la ville verse-t-elle ?", "amount"),
        ("Quel jour a lieu le procès ?", "date"),
        ("¿A cuánto asciende la multa?", "amount"),
        ("¿A qué velocidad iba el tren?", "number"),
    ],
)
def test_what_is_asked_for_may_stand_anywhere(question: str, kind: str) -> None:
    assert inquire(question).kind == kind


@pytest.mark.parametrize(
    ("question", "predicate"),
    [
        ("When was the Harrow dam built?", "build"),
        ("Who is the governor of the bank?", "governor"),
        ("Why did the minister of trade resign?", "resig"),
        ("Who won the election?", "win"),
        ("Wer hat die Brücke gebaut?", "gebau"),
        ("Quand l'ourse a-t-elle été tuée ?", "tue"),
        ("Combien de temps la grève dure-t-elle ?", "dur"),
        ("¿Quién fundó la fábrica?", "fund"),
        ("Who is the new mayor?", "mayor"),
        ("Weshalb gab die Ministerin ihr Amt auf?", None),
        ("When was the stranded ferry pulled free?", "pull"),
        ("Where did the probe come down on the Moon?", None),
    ],
)
def test_the_word_that_relates_the_answer_to_the_subject(question: str, predicate: str | None) -> None:
    assert inquire(question).predicate == predicate


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the Talvik dam built?", "The Talvik dam began to fill on 3 May."),
        ("How high is the Talvik dam?", "The Talvik dam takes in 40 cubic metres of water a second."),
        ("How deep was the wave at Talvik?", "The wave at Talvik was forty centimetres high."),
        ("Who founded the Talvik mill?", "The Talvik mill was sold by Anna Berg on Friday."),
        ("What time did the Talvik workers walk out?", "The Talvik workers walked out on Wednesday."),
        ("How precise is the Orbit Watch at measuring pulse?", "The Orbit Watch 4 is measuring pulse at the wrist."),
    ],
)
def test_another_act_or_another_measure_is_no_answer(question: str, text: str) -> None:
    assert _told(question, text, BRIDGE).claims == ()


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Why is Talvik Mills cutting jobs?", "Talvik Mills will cut 40 jobs because of weak orders."),
        ("Wie viele Münzen wurden in Kronau gestohlen?", "Diebe haben in Kronau 74 Goldmünzen gestohlen."),
        ("Wer stahl die gestohlenen Münzen?", "Die Münzen stahl Anna Berg aus Kronau."),
        ("Wann hat der TV Kronau gespielt?", "Am 3. Mai hat der TV Kronau das Spitzenspiel verloren."),
        ("Wann wurde der Alarm in Kronau abgeschaltet?", "Am 3. Mai schaltete ein Dieb in Kronau den Alarm ab."),
        ("Wie viel mehr Lohn wollen die Lokführer?", "Die Lokführer fordern 7 Prozent mehr Lohn."),
        ("Pourquoi la fermeture de Talvik ?", "Une panne est à l'origine de la fermeture de Talvik."),
        ("Combien de navires attendent devant Talvik ?", "Une quinzaine de navires attendent au large de Talvik."),
        ("Qui a obtenu le prix Talvik ?", "Anna Berg est la lauréate du prix Talvik pour son roman."),
        ("Bis wann gilt der Notfahrplan in Talvik?", "Der Notfahrplan in Talvik gilt bis Freitagfrüh."),
        ("Wie heißt die Bürgermeisterin von Talvik?", "Bürgermeisterin Anna Berg will Talvik entlasten."),
        ("Was war die Ursache der Havarie bei Talvik?", "Schuld an der Havarie bei Talvik war das Ruder."),
    ],
)
def test_other_forms_of_the_words_of_a_question_answer_it(question: str, text: str) -> None:
    assert text in [claim.text for claim in _told(question, text, BRIDGE).claims]


def test_a_sentence_about_she_or_it_is_about_what_the_one_before_names() -> None:
    text = "Die Gewerkschaft der Lokführer will den Verkehr lahmlegen. Sie fordert kürzere Schichten."
    claims = _told("Was fordert die Gewerkschaft der Lokführer?", text, BRIDGE).claims
    assert "Sie fordert kürzere Schichten." in [claim.text for claim in claims]


def test_a_name_that_only_the_story_has_makes_no_answer_about_somebody_else() -> None:
    passages = [
        _passage(1, "Agnès Vautrin a remis sa démission après la révélation de ses liens.", language="fr"),
        _passage(2, "Julien Maret succède à Agnès Vautrin.", language="fr"),
    ]
    asked = "Pourquoi {} a-t-il démissionné ?"
    assert answer(inquire(asked.format("Agnès Vautrin")), passages, {1: 7, 2: 7}).claims
    assert answer(inquire(asked.format("Julien Maret")), passages, {1: 7, 2: 7}).claims == ()


def test_another_one_of_a_kind_is_no_answer() -> None:
    kronau = "Das Klinikum Kronau hat einen neuen Leiter."
    torhafen = "Das Klinikum Torhafen mit 620 Betten hat Insolvenz angemeldet."
    assert _told("Wie viele Betten hat das Klinikum Torhafen?", kronau, torhafen).claims
    assert _told("Wie viele Betten hat das Klinikum Kronau?", f"{torhafen} Kronau hilft.").claims == ()


def test_the_name_stands_near_the_answer_in_a_long_entry() -> None:
    filler = " ".join(f"The {bird} nests in the reeds of the lake." for bird in ("heron", "stork", "swift", "robin"))
    long = f"A walk around the lake. {filler} A ticket for the boat costs 12 pounds. {filler} Later we saw Oldmere."
    assert _told("How much does a ticket for the boat in Oldmere cost?", long).claims == ()
    near = long.replace("A ticket for the boat", "In Oldmere a ticket for the boat")
    assert _told("How much does a ticket for the boat in Oldmere cost?", near).claims


def test_a_semi_final_is_not_the_final() -> None:
    semi_final, final = "Anna Berg won the Talvik semi-final.", "Edda Holm won the Talvik final."
    assert _told("Who won the Talvik final?", semi_final, final).claims[0].text == final


def test_the_event_itself_is_not_its_cause() -> None:
    event = "The Talvik school was empty on Tuesday because of a gas leak."
    cause = "A digger was to blame for the gas leak at the Talvik school."
    assert _told("What caused the gas leak at the Talvik school?", event, cause).claims[0].text == cause


def test_a_keyword_question_finds_the_number() -> None:
    text = "The repair of the Talvik dam will cost 27 million pounds, the county said."
    assert [claim.text for claim in _told("talvik dam repair cost", BRIDGE, text).claims] == [text]


def test_words_of_an_entry_in_the_same_story_count() -> None:
    passages = [
        _passage(1, "The swing bridge in Marrowby is closed."),
        _passage(2, "The repair costs 18 million euros."),
    ]
    inquiry = inquire("How much does the repair of the swing bridge in Marrowby cost?")
    assert answer(inquiry, passages, {}).claims == ()
    assert answer(inquiry, passages, {1: 7, 2: 7}).claims[0].entry_ids == (2,)


def test_a_question_without_words_asks_for_nothing() -> None:
    assert search_terms(inquire("Why?")) == ()
    assert _told("Why?", BRIDGE) == Answer((), (), ())


def test_the_entry_that_names_most_comes_first_for_a_model() -> None:
    both, one = _passage(1, "A heron sits in the harbour."), _passage(2, "A heron sits on a roof.")
    assert best_passages(inquire("Is the heron in the harbour?"), [one, both], 1) == [both]


def test_a_long_entry_is_read_where_it_matters() -> None:
    text = "It begins. It goes on. " + "Nothing here matters at all. " * 100 + "The heron nests in May."
    read = excerpt(inquire("When does the heron nest?"), _passage(1, text), 200)
    assert read.startswith("It begins.") and read.endswith("The heron nests in May.") and len(read) <= 200


def test_a_model_is_held_to_the_words_and_numbers_of_its_sources() -> None:
    claims = [
        {"text": "It costs 18.4 million.", "quote": "The repair costs 18.4 million pounds", "sources": [1]},
        {"text": "It costs 19 million.", "quote": "The repair costs 18.4 million pounds", "sources": [1]},
        {"text": "It is cheap.", "quote": "The repair is cheap", "sources": [1]},
        {"text": "It carries 140.", "quote": "carries 140 people", "sources": [1]},
        {"text": "It is closed.", "quote": "", "sources": [1]},
    ]
    draft = read_answer(json.dumps({"answered": True, "claims": claims}), {1: BRIDGE, 2: FERRY})
    assert draft is not None and draft.dropped == 4
    assert [claim.text for claim in draft.claims] == ["It costs 18.4 million."]
    assert numbers_of("4,200 and 4.200 and 7") == {"4200", "7"}
