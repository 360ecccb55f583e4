import { targetOf } from './request-target.ts'

/** Whether the query says `dryRun=true`. Whether it is a valid one is found out later: what is refused for its query changes nothing either. */
export function asksForDryRun({ url }: Pick<Request, 'url'>): boolean {
  return new URLSearchParams(targetOf(url).query).get('dryRun') === 'true'
}
