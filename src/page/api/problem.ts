/** Why a request failed: what the service answered, or that it did not answer. */

interface FieldError {
  /** As in the body: `guest.email`. */
  readonly field: string
  readonly message: string
}

/** A refusal by the service, or a failure on the way to it. `message` is for people. */
export class Problem extends Error {
  /** The service's code, such as `BOOKING_CONFLICT`, or `NO_ANSWER`. */
  readonly code: string
  /** 0: no answer arrived. */
  readonly status: number
  readonly fields: readonly FieldError[]
  /** The whole body of the refusal, for what is particular to its code. */
  readonly body: Readonly<Record<string, unknown>>
  readonly requestId: string | null

  constructor(status: number, body: Readonly<Record<string, unknown>>, cause?: unknown) {
    const title = body['title']
    const errors = Array.isArray(body['errors']) ? (body['errors'] as FieldError[]) : []
    super(typeof title === 'string' ? titleText(title, errors) : untitled(status), { cause })
    this.name = 'Problem'
    this.status = status
    this.body = body
    this.code = typeof body['code'] === 'string' ? body['code'] : 'UNKNOWN'
    this.requestId = typeof body['requestId'] === 'string' ? body['requestId'] : null
    this.fields = errors.map(({ field, message }) => ({ field, message: fieldSentence(field, message) }))
  }

  /** Whether the same request may have been carried out nevertheless, or may pass later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500
  }

  /** What is wrong with a field of the body; undefined if nothing is. */
  of(field: string): string | undefined {
    return this.fields.find((error) => error.field === field)?.message
  }
}

/** The title is the first of several errors: `guest.email must be …`. Each is said for its field. */
function titleText(title: string, [first]: readonly FieldError[]): string {
  return first !== undefined && title.startsWith(first.field) ? 'Some of what was entered is not accepted.' : title
}

/** An answer that is not the service's: a proxy gives it while the service is restarted. */
function untitled(status: number): string {
  return status >= 502 && status <= 504
    ? `The service is not available (status ${status}). Try again in a moment.`
    : `The service answered with status ${status}`
}

/** The service's words name the member of a JSON body; beside its input the name says nothing: `guest.email must be … or null`. */
function fieldSentence(field: string, message: string): string {
  const said = message
    .replace(field, '')
    .replace(/ or null\b|\bnull or /, '')
    .replace('a string of ', '')
    .trim()
    .replace(/\.$/, '')
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}.`
}

/** No answer: the connection is lost, or the service is being restarted. */
export function noAnswer(cause: unknown): Problem {
  return new Problem(0, { code: 'NO_ANSWER', title: 'The service could not be reached. Check your connection.' }, cause)
}

/** Whatever was thrown, as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem(
    0,
    { code: 'PAGE_FAULT', title: 'Something went wrong on this page. Reload it and try again.' },
    error,
  )
}
