//! Drafts in the language that is wanted, and in others.

use super::{super::check::Verdict, *};

const ENGLISH: &str = "The quick brown fox jumps over the lazy dog while the children are watching from the garden, and nobody knows \
                       where the cat has gone this morning.";
const GERMAN: &str = "Der schnelle braune Fuchs springt über den faulen Hund, während die Kinder aus dem Garten zusehen, und niemand \
                      weiß, wohin die Katze heute Morgen gegangen ist.";

fn verdict(draft: &str, wanted: &str) -> Verdict {
    check(&Text::new(draft), wanted).verdict
}

/// spec: ORC-10
#[test]
fn the_language_of_a_text_is_known_by_its_letters() {
    for wanted in ["en", "EN-gb", "en_US", "eng", "english", "English"] {
        assert_eq!(verdict(ENGLISH, wanted), Verdict::Pass, "{wanted}");
    }
    assert_eq!(verdict(GERMAN, "de-AT"), Verdict::Pass);
    let check = check(&Text::new(GERMAN), "en");
    assert_eq!((check.verdict, check.hard), (Verdict::Fail, true));
    let issue = check.issue.expect("an issue").sentence();
    assert_eq!(
        issue,
        "language: the draft looks like language \"deu\"; write in language \"en\"."
    );
}

#[test]
fn a_text_of_two_languages_is_in_neither_for_sure() {
    let mixed = format!("{ENGLISH} {GERMAN}");
    for wanted in ["en", "de"] {
        assert_ne!(verdict(&mixed, wanted), Verdict::Pass, "{wanted}");
    }
    let foreign = "Das Treffen ist am Montag im Garten und das Wetter wird wohl ganz gut werden.";
    let hidden = format!("{} {foreign}", format!("{ENGLISH} ").repeat(6));
    let check = check(&Text::new(&hidden), "en");
    assert_eq!(check.verdict, Verdict::NotChecked, "{}", check.evidence);
    let named = "a sentence looks like \"deu\": \"Das Treffen";
    assert!(check.evidence.contains(named), "{}", check.evidence);
}

#[test]
fn members_of_macrolanguages_are_told_by_their_code() {
    let chinese = "我们今天去公园散步然后回家吃饭休息一下".repeat(6);
    assert_eq!(verdict(&chinese, "zh"), Verdict::Pass);
    assert_eq!(verdict(&chinese, "en"), Verdict::Fail);
}

#[test]
fn a_guess_is_no_verdict() {
    assert_eq!(verdict("Hello, my friend!", "de"), Verdict::NotChecked);
    assert_eq!(verdict("", "de"), Verdict::NotChecked);
    assert_eq!(
        verdict(
            &"Anna Berg, Tomas Lindt, Sara Holm, Oskar Wiik. ".repeat(4),
            "pt"
        ),
        Verdict::NotChecked
    );
    assert_eq!(verdict(ENGLISH, "Quenya?"), Verdict::NotChecked);
    assert_eq!(verdict(ENGLISH, ""), Verdict::NotChecked);
    assert_eq!(verdict(&"12345 ".repeat(100), "en"), Verdict::NotChecked);
}

/// A short text tells nothing by its words, but it does by its script.
#[test]
fn a_text_in_letters_that_a_language_never_has_is_not_in_it() {
    for (draft, wanted, verdict) in [
        ("Приходите завтра!", "de", Verdict::Fail),
        ("明日また来てください。", "en", Verdict::Fail),
        ("Ελάτε αύριο", "ru", Verdict::Fail),
        ("営業時間変更のお知らせ", "ja", Verdict::NotChecked),
        ("営業時間変更", "ja", Verdict::NotChecked),
        ("Добро дошли", "sr", Verdict::NotChecked),
        ("Dobro došli u pekaru", "sr", Verdict::NotChecked),
        ("Gəlin, təzə çörək var", "az", Verdict::NotChecked),
        ("Тәзә чөрәк вар", "az", Verdict::NotChecked),
        ("Konnichiwa, pan desu", "ja", Verdict::NotChecked),
        ("Сири Bakery", "en", Verdict::NotChecked),
        ("Ω 5", "en", Verdict::NotChecked),
    ] {
        let found = super::check(&Text::new(draft), wanted);
        assert_eq!(found.verdict, verdict, "{draft}: {}", found.evidence);
    }
}

#[test]
fn a_short_text_that_is_surely_in_another_language_is_not_in_the_one_wanted() {
    let english = "Come to the market on Saturday and bring all of your friends with you.";
    let found = super::check(&Text::new(english), "de");
    assert_eq!(found.verdict, Verdict::Fail, "{}", found.evidence);
    // Each of these is in the language that is wanted, and looks like a neighbour of it at times.
    for (draft, wanted) in SHORT {
        let found = super::check(&Text::new(draft), wanted);
        assert_ne!(found.verdict, Verdict::Fail, "{draft}: {}", found.evidence);
    }
}

const SHORT: [(&str, &str); 30] = [
    (
        "Kom på lørdag og smag vores nye brød med smør og honning.",
        "da",
    ),
    ("Vi bager hver morgen, og butikken åbner klokken syv.", "da"),
    (
        "Bestil din kage senest torsdag, så er den klar lørdag.",
        "da",
    ),
    ("Kom på lørdag og smak på vårt nye brød med smør.", "nb"),
    ("Vi baker hver morgen, og butikken åpner klokka sju.", "nb"),
    ("Bestill kaken senest torsdag, så er den klar lørdag.", "nb"),
    ("Kom på lördag och smaka vårt nya bröd med smör.", "sv"),
    (
        "Vi bakar varje morgon och butiken öppnar klockan sju.",
        "sv",
    ),
    (
        "Kom zaterdag langs en proef ons nieuwe brood met boter.",
        "nl",
    ),
    (
        "Wij bakken elke ochtend en de winkel opent om zeven uur.",
        "nl",
    ),
    (
        "Kom Saterdag en proe ons nuwe brood met botter en heuning.",
        "af",
    ),
    ("Venha sábado provar o nosso pão novo com manteiga.", "pt"),
    ("Fazemos pão todas as manhãs e a loja abre às sete.", "pt"),
    (
        "Ven el sábado a probar nuestro pan nuevo con mantequilla.",
        "es",
    ),
    ("Horneamos cada mañana y la tienda abre a las siete.", "es"),
    ("Vine dissabte a tastar el nostre pa nou amb mantega.", "ca"),
    (
        "Vieni sabato ad assaggiare il nostro pane nuovo con burro.",
        "it",
    ),
    (
        "Ogni mattina facciamo il pane e il negozio apre alle sette.",
        "it",
    ),
    (
        "Venez samedi goûter notre nouveau pain avec du beurre.",
        "fr",
    ),
    ("Přijďte v sobotu ochutnat náš nový chléb s máslem.", "cs"),
    ("Príďte v sobotu ochutnať náš nový chlieb s maslom.", "sk"),
    ("Dođite u subotu i probajte naš novi kruh s maslacem.", "hr"),
    (
        "Pridite v soboto in poskusite naš novi kruh z maslom.",
        "sl",
    ),
    ("Приходите в субботу и попробуйте наш новый хлеб.", "ru"),
    ("Приходьте в суботу і скуштуйте наш новий хліб.", "uk"),
    ("Елате в събота и опитайте нашия нов хляб с масло.", "bg"),
    ("Дојдете во сабота и пробајте го нашиот нов леб.", "mk"),
    (
        "Brioche, Ciabatta, Focaccia, Panettone, Croissant, Baguette",
        "en",
    ),
    (
        "Sourdough, rye, spelt, brioche, ciabatta, focaccia, baguette",
        "de",
    ),
    (
        "Gel ve cumartesi günü yeni ekmeğimizi tereyağıyla dene.",
        "tr",
    ),
];

#[test]
fn words_lose_their_endings_by_their_language() {
    let stem = |language: &str, word: &str| {
        let stemmer = Language::named(language).and_then(Language::stemmer);
        stemmer.map(|s| s.stem(word).into_owned())
    };
    assert_eq!(stem("en", "guaranteed"), stem("en", "guarantees"));
    assert_eq!(stem("nb", "garantier"), stem("no", "garantien"));
    assert_eq!(stem("ja", "x"), None);
}
