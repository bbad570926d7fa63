// Times are written by the server, in the zone of this device: it must know it before the first list is asked for.
const YEAR = 31_536_000;
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) document.cookie = `reedbed_zone=${zone}; path=/; max-age=${YEAR}; samesite=lax`;
