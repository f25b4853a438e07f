"""The store of limits in a Valkey or Redis: one script, one round trip for everything that a process has to tell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from commonlore.domain.limits.meter import LimitStoreUnavailable, Spent, Standing

# A telling takes a tenth of a millisecond; one that takes longer than this waits for something that is not there.
_TIMEOUT_S = 1.0
_KEPT_S = 40 * 86_400
_MOST_CALLS = 10**12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# KEYS: each use. ARGV: the process; then for each use: calls since the last answer, calls since the process began, microseconds each, and what
# the process knew: age, debt, day, its calls, month, its calls. What is added is the difference to what this process told before, so a telling
# whose answer was lost counts once. What the process knew is kept where the server has lost it, so a restart without a disk forgets nothing
# that a living process knows. Days count from the first of year 1, months from year 0, as in the meter. What others wrote into a key and is no
# number that it could hold counts as lost; a key of another type is written anew.
_SCRIPT = f"""
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local days = math.floor(time[1] / 86400)
local era = math.floor((days + 719468) / 146097)
local doe = days + 719468 - era * 146097
local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
local mp = math.floor((5 * (doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))) + 2) / 153)
local m = mp < 10 and mp + 3 or mp - 9
local month = (yoe + era * 400 + (m <= 2 and 1 or 0)) * 12 + m - 1
local day = days + 719163
local me = 'told:' .. ARGV[1]
local function sane(text, most)
    local number = tonumber(text)
    return number and number >= 0 and number <= most and number or nil
end
local found = {{time[1], time[2]}}
for i = 1, #KEYS do
    local told = {{}}
    for j = 1, 9 do told[j] = tonumber(ARGV[1 + (i - 1) * 9 + j]) end
    local kept = redis.pcall('HMGET', KEYS[i], 'full', 'day', 'dayn', 'month', 'monthn', me)
    if kept.err then
        redis.call('DEL', KEYS[i])
        kept = {{}}
    end
    local before = sane(kept[6], told[2])
    local calls = before and told[2] - before or told[1]
    local full = math.max(math.max(sane(kept[1], now + {_KEPT_S} * 1000000) or 0, now - told[4]) + calls * told[3], now + told[5])
    local dayn = tonumber(kept[2]) == day and sane(kept[3], {_MOST_CALLS}) or 0
    local monthn = tonumber(kept[4]) == month and sane(kept[5], {_MOST_CALLS}) or 0
    if told[6] == day then dayn = math.max(dayn, told[7]) end
    if told[8] == month then monthn = math.max(monthn, told[9]) end
    dayn, monthn = dayn + calls, monthn + calls
    redis.call('HSET', KEYS[i], 'full', string.format('%.0f', full), 'day', day, 'dayn', string.format('%.0f', dayn),
               'month', month, 'monthn', string.format('%.0f', monthn), me, string.format('%.0f', told[2]))
    redis.call('EXPIRE', KEYS[i], {_KEPT_S})
    found[#found + 1] = full - now
    found[#found + 1] = dayn
    found[#found + 1] = monthn
end
return found
"""


class ValkeyLimitStore:
    """`LimitStore` at `url`. Close it with `close`."""

    def __init__(self, url: str, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._redis = Redis.from_url(
            url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s, max_connections=4, retry=Retry(NoBackoff(), 0), protocol=3
        )
        self._script = self._redis.register_script(_SCRIPT)
        self._process = str(uuid4())

    async def tell(self, spent: list[Spent]) -> tuple[datetime, list[Standing]]:
        keys = [f"commonlore:limit:{item.key.team_id}:{item.key.subject_id}:{item.key.operation_class}" for item in spent]
        arguments: list[str | int] = [self._process]
        for item in spent:
            arguments += (item.calls, item.total, item.interval_us, item.age_us, item.debt_us)
            arguments += (item.day, item.known_day_calls, item.month, item.known_month_calls)
        try:
            seconds, microseconds, *numbers = await self._script(keys=keys, args=arguments)
        except (RedisError, OSError, TimeoutError) as error:
            raise LimitStoreUnavailable from error
        found = zip(spent, numbers[::3], numbers[1::3], numbers[2::3], strict=True)
        standings = [Standing(item.key, int(debt), int(day), int(month)) for item, debt, day, month in found]
        return _EPOCH + timedelta(seconds=int(seconds), microseconds=int(microseconds)), standings

    async def close(self) -> None:
        await self._redis.aclose()
