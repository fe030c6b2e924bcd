"""The settings of names in texts and of who tells whose they are.

A field's environment variable is its name in capitals; the template sets what a stage may choose.
"""

from pydantic import Field, SecretStr, field_validator

from siftline.settings.shared import Settings

PROVIDERS = ("csv", "gleif", "wikidata")


class EntitySettings(Settings):
    """Names in texts, for those who find them and those who tell whose they are."""

    entity_model_uri: str = Field(
        default="",
        description="a model folder for token classification, or s3://bucket/prefix of one; empty: names are found by "
        "rules",
    )
    entity_model_tokens: int = Field(default=256, ge=16, le=8_192, description="tokens that it reads at a time")
    entities_max: int = Field(default=40, ge=0, le=500, description="names of a content at most")
    entity_salt: SecretStr = Field(
        default=SecretStr(""),
        description="what temporary ids are made with, or secretsmanager://<secret id> whose text it is. Another salt "
        "makes other ids of the same names: set it once",
    )
    entity_providers: str = Field(
        default="",
        description="who tells whose a name is, in this order, parted by commas: csv, gleif, wikidata; empty: nobody "
        "is asked, and ids stay temporary",
    )

    @field_validator("entity_providers")
    @classmethod
    def _known(cls, value: str) -> str:
        names = [name.strip() for name in value.split(",") if name.strip()]
        if unknown := sorted(set(names) - set(PROVIDERS)):
            raise ValueError(f"there is no {unknown[0]}; there are {', '.join(PROVIDERS)}")
        return ",".join(dict.fromkeys(names))

    def providers(self) -> list[str]:
        """Return the providers' names in the order in which they are asked."""
        return [name for name in self.entity_providers.split(",") if name]


class ResolutionSettings(Settings):
    """Whom to ask, how often, and what counts as an answer."""

    entity_csv: str = Field(default="", description="CSV file for csv: columns name, id, aliases (parted by bars)")
    gleif_url: str = Field(default="https://api.gleif.org", description="where GLEIF's API answers")
    wikidata_url: str = Field(default="https://www.wikidata.org", description="where Wikidata's API answers")
    provider_requests_per_run: int = Field(
        default=200, ge=1, description="requests to one provider in an hour, for all organisations together"
    )
    provider_requests_per_day: int = Field(
        default=2_000, ge=1, description="requests to one provider in a day (UTC), for all organisations together"
    )
    entity_likeness_min: float = Field(
        default=0.92, gt=0.5, le=1, description="names that are written otherwise are one from this likeness on"
    )
    entity_lead_min: float = Field(
        default=0.08, ge=0, le=1, description="and only where the next best is less alike by so much"
    )
    resolve_entity_s: float = Field(default=45.0, gt=0, description="the longest that asking about one may take")
