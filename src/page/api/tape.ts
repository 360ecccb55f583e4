import { type Day, isoOf } from '../format/days.ts'
import { answerOf, client } from './client.ts'
import type { Schema } from './schema.ts'

/** Units and stays of a window, as rows of values. */
export type Tape = Schema<'Tape'>

/** @param window from the first day to the day after the last. @throws Problem */
export async function getTape(
  path: { readonly agencySlug: string },
  { from, to }: { from: Day; to: Day },
  signal: AbortSignal,
): Promise<Tape> {
  const query = { from: isoOf(from), to: isoOf(to) }
  const tape = await answerOf(client.GET('/portal/v1/agencies/{agencySlug}/tape', { params: { path, query }, signal }))
  // The client's types forget how long a row is.
  return tape as Tape
}
