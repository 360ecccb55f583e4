/** The rate of a load test: the requested one, if the key's limits allow it. */
import { CliError, UsageError } from '../exit-codes.ts'

export type Mix = 'reads' | 'bookings'

/** What the key has left, from `GET /me` and the rate limit headers. */
export interface KeyLimits {
  readonly requestsPerMinute: number
  readonly leftOfMinute: number
  /** Of all keys of the agency. */
  readonly leftOfMonth: number
}

export interface WantedLoad {
  /** Null: `RATE_DEFAULT`, or less if the limits ask for it. */
  readonly perSecond: number | null
  readonly durationS: number
  readonly connections: number
  readonly mix: Mix
}

export interface LoadPlan extends WantedLoad {
  readonly perSecond: number
  /** Upper bound of the random number of arrivals. */
  readonly requestsMax: number
}

export const RATE_DEFAULT = 50
export const RATE_MAX = 2_000
export const DURATION_S_DEFAULT = 30
export const DURATION_S_MAX = 600
export const CONNECTIONS_DEFAULT = 32
/** The number of idle connections that the HTTP client keeps: beyond it, it would keep reconnecting. */
export const CONNECTIONS_MAX = 64
const REQUESTS_MAX = 200_000
/** Needed for a p99. */
const REQUESTS_MIN = 100
/** Share of the agency's monthly quota for one run: partners need the rest. */
const MONTH_SHARE = 0.5
/** Requests before and after the load. */
const ASIDE = 25

/**
 * @param agency slug, for the command that raises the limit
 * @throws UsageError when the load does not fit: one that exceeds the limits would measure the limiter, not the service
 */
export function planOf(wanted: WantedLoad, limits: KeyLimits, agency: string): LoadPlan {
  const { durationS, connections, mix } = wanted
  const { requestsPerMinute, leftOfMonth } = limits
  if (!(requestsPerMinute >= 0 && leftOfMonth >= 0))
    throw new CliError('Cannot read the limits of the key from GET /me. Is it nightledger?')
  const windowS = Math.min(durationS, 60)
  // A run in a sandbox cancels its bookings afterwards.
  const aside = ASIDE + (mix === 'bookings' ? 2 * connections : 0)
  const ofMinute = highestMean(requestsPerMinute - aside) / windowS
  const ofMonth = highestMean(leftOfMonth * MONTH_SHARE - aside) / durationS
  const highest = Math.floor(Math.min(ofMinute, ofMonth) * 10) / 10
  const perSecond = wanted.perSecond ?? Math.min(RATE_DEFAULT, highest)
  const needed = (rate: number) => countMax(rate * windowS) + aside

  const isTooFew = wanted.perSecond === null && perSecond * durationS < REQUESTS_MIN
  if (perSecond > highest || isTooFew) {
    const rate = wanted.perSecond ?? RATE_DEFAULT
    const fits =
      highest === 0 ? 'no run fits' : `a run of ${durationS} s fits at --rate ${highest} or less${tooFew(isTooFew)}`
    throw new UsageError(
      ofMinute < ofMonth
        ? `Cannot run at ${rate} requests per second: the key allows ${requestsPerMinute} per minute, so ${fits}. ` +
            'A load beyond the limit would measure the rate limiter. Raise the limit for the test ' +
            `(nightledger agencies update --agency ${agency} --requests-per-minute ${Math.ceil(needed(rate) / 100) * 100}), or lower --rate.`
        : `Cannot run at ${rate} requests per second: the agency has ${leftOfMonth} requests left this month, and a ` +
            `load test uses at most half of them, so ${fits}. Lower --rate or --duration, or raise the quota ` +
            `(nightledger agencies update --agency ${agency} --requests-per-month N).`,
    )
  }
  const requestsMax = countMax(perSecond * durationS)
  if (requestsMax > REQUESTS_MAX)
    throw new UsageError(
      `Cannot run at ${perSecond} requests per second for ${durationS} s: that may be ${requestsMax} requests, and a load test sends ` +
        `${REQUESTS_MAX} at most. Lower --rate or --duration.`,
    )
  if (limits.leftOfMinute < needed(perSecond))
    throw new UsageError(
      `Cannot run yet: ${requestsPerMinute - limits.leftOfMinute} of the key's ${requestsPerMinute} requests per minute were ` +
        'used within the last minute. Wait a minute, and use a key that nothing else uses.',
    )
  return { perSecond, durationS, connections, mix, requestsMax }
}

function tooFew(isTooFew: boolean): string {
  return isTooFew ? ', which is too few requests for percentiles' : ''
}

/** Standard deviations above the mean that the count of a minute does not exceed in practice. */
const DEVIATIONS = 5

function countMax(mean: number): number {
  return Math.ceil(mean + DEVIATIONS * Math.sqrt(mean))
}

/** The inverse: the highest mean whose count stays within `count`. */
function highestMean(count: number): number {
  return count <= 0 ? 0 : (Math.sqrt(count + DEVIATIONS ** 2 / 4) - DEVIATIONS / 2) ** 2
}
