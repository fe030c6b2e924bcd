"""What a model for the second pass must tell apart: short texts in six languages, each about one of five topics."""

from collections.abc import Sequence
from dataclasses import dataclass

ASKED = ("sport", "health", "politics", "economy", "technology")


@dataclass(frozen=True, slots=True)
class Golden:
    """A text, its language and the one topic of ``ASKED`` that it is about."""

    language: str
    topic: str
    text: str


GOLDEN: Sequence[Golden] = (
    Golden("en", "sport", "The keeper saved two penalties, and the visitors went home without a point on Saturday."),
    Golden("de", "sport", "Die Läuferin gewann den Marathon in Rekordzeit, obwohl es am Ende regnete."),
    Golden("es", "sport", "El equipo remontó tres goles y jugará la final de la copa ante su rival de siempre."),
    Golden("en", "health", "Nurses on the children's ward were vaccinated first after the measles spread in the town."),
    Golden("fr", "health", "Les médecins de l'hôpital ont soigné quarante patients atteints d'une intoxication."),
    Golden("ru", "health", "Врачи больницы вылечили пациентов новым лекарством, вакцина будет готова осенью."),
    Golden("en", "politics", "Members of parliament voted down the minister's bill by a single vote."),
    Golden("de", "politics", "Die Koalition einigte sich vor der Wahl auf ein Gesetz, die Opposition stimmte dagegen."),
    Golden("it", "politics", "Il governo ha ottenuto la fiducia del parlamento, ma due partiti se ne vanno."),
    Golden("en", "economy", "Inflation slowed to two percent, so the central bank may cut its interest rate."),
    Golden("fr", "economy", "La banque centrale relève ses taux, la croissance ralentit et les impôts vont augmenter."),
    Golden("es", "economy", "La inflación bajó y el banco central redujo los tipos de interés por primera vez."),
    Golden("en", "technology", "The update closes a hole in the phone's software that gave passwords away."),
    Golden("de", "technology", "Der neue Chip rechnet schneller, und die Software des Telefons wird dafür angepasst."),
    Golden("fr", "technology", "L'entreprise publie un logiciel libre qui protège les mots de passe sur internet."),
)
