"""The public suffix list: below which names anybody can have a name of their own, as it was packaged."""

from functools import cache
from importlib import resources

from publicsuffixlist import PublicSuffixList

# Blogger's domains of countries: blogs are still there, but the list has let them go.
_BLOGGER = (
    "ae al am ba be bg bj ca cf ch cl co.at co.id co.il co.ke co.nz co.uk co.za com.ar com.au com.br com.by com.co",
    "com.cy com.ee com.eg com.es com.mt com.ng com.tr com.uy cv cz de dk fi fr gr hk hr hu ie in is it jp kr li lt lu",
    "md mk mr mx my nl no pe pt qa re ro rs ru se sg si sk sn td tw ug vn",
)


@cache
def suffixes() -> PublicSuffixList:
    """Return the list, private suffixes (``github.io``) among the others: read once a process, when it is needed."""
    listed = resources.files("publicsuffixlist").joinpath("public_suffix_list.dat").read_text("utf-8").splitlines()
    blogs = [f"blogspot.{country}" for line in _BLOGGER for country in line.split()]
    return PublicSuffixList([*listed, *blogs])
