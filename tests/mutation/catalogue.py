"""Every mutation. Anchors are short and lie in the domain where they can, so that few rewrites move them."""

from __future__ import annotations

from tests.mutation.hypotheses import HYPOTHESES
from tests.mutation.intake import INTAKE
from tests.mutation.mutation import Mutation
from tests.mutation.ranking import RANKING
from tests.mutation.records import RECORDS
from tests.mutation.safety import SAFETY
from tests.mutation.sharing import SHARING
from tests.mutation.times import TIMES
from tests.mutation.ways import WAYS

MUTATIONS: tuple[Mutation, ...] = (*RANKING, *SAFETY, *INTAKE, *HYPOTHESES, *WAYS, *SHARING, *RECORDS, *TIMES)
