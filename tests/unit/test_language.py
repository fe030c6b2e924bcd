import pytest

from siftline.analyze.text.language import LanguageDetector, primary_language


@pytest.fixture(scope="module")
def detector():
    return LanguageDetector()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The central bank raised its interest rate for the first time in four years."),
        ("de", "Die Notenbank hat den Leitzins zum ersten Mal seit vier Jahren erhöht."),
        ("fr", "La banque centrale a relevé son taux directeur pour la première fois en quatre ans."),
        ("es", "El banco central ha subido los tipos de interés por primera vez en cuatro años."),
        ("ja", "中央銀行は四年ぶりに政策金利を引き上げた。"),
        ("ar", "رفع البنك المركزي سعر الفائدة للمرة الأولى منذ أربع سنوات."),
        ("en", "THE CENTRAL BANK RAISED ITS INTEREST RATE FOR THE FIRST TIME\nIN FOUR YEARS."),
    ],
)
def test_the_language_of_a_sentence_is_known(detector, language, text):
    found = detector.detect(text)

    assert found is not None
    assert found.language == language
    assert 0.6 <= found.probability <= 1


@pytest.mark.parametrize("text", ["", "OK", "p. 1 \u240c", "1234 5678 9012", "\udc80\udc80 \ud800" * 20, "🚀" * 50])
def test_too_little_has_no_language(detector, text):
    assert detector.detect(text) is None


@pytest.mark.parametrize(
    ("claim", "language"),
    [("en-GB", "en"), ("pt_BR", "pt"), ("DE", "de"), ("nb-NO", "no"), ("zh-Hans", "zh"), ("und", None), ("", None),
     (None, None), ("english", None), ("x-klingon", None), ("iw", "he")],
)  # fmt: skip
def test_a_claim_is_reduced_to_its_language(claim, language):
    assert primary_language(claim) == language
