/** `Poland` for `PL`. Nationalities are free texts: what is no code of a country is shown as it is. */
export function countryText(text: string, locale?: string): string {
  if (!/^[A-Z]{2}$/.test(text)) return text
  return (
    new Intl.DisplayNames(locale === undefined ? [] : [locale], { type: 'region', fallback: 'code' }).of(text) ?? text
  )
}
