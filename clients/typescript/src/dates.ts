declare const date: unique symbol

/** A date as you may write it: `'2027-03-01'`. Dates have no time and no time zone. */
export type DateText = `${number}-${number}-${number}`
/** A calendar date, `YYYY-MM-DD`, that the service sent or {@link isoDate} has checked. */
export type IsoDate = DateText & { readonly [date]: true }

/** @throws RangeError if the text is not a date that exists, as `YYYY-MM-DD` */
export function isoDate(text: string): IsoDate {
  const time = Date.parse(`${text}T00:00:00Z`)
  if (!(/^\d{4}-\d\d-\d\d$/.test(text) && new Date(time || 0).toISOString().startsWith(text)))
    throw new RangeError(`Not a date YYYY-MM-DD: ${text}`)
  return text as IsoDate
}
