/** Links to a guest's e-mail address and telephone. Guests come from partners, so their texts are not to be trusted. */

/** `mailto:` with this one recipient: an address may have a `?` in it, and what follows would be other recipients and a text. */
export function mailLink(email: string): string {
  const at = email.lastIndexOf('@')
  return `mailto:${encodeURIComponent(email.slice(0, at))}@${encodeURIComponent(email.slice(at + 1))}`
}

/** `tel:` with the digits of a number, and nothing else that is in it. */
export function phoneLink(phone: string): string {
  return `tel:${phone.replaceAll(/[^+\d]/g, '')}`
}
