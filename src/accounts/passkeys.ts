/** Passkeys of one person. */
export const PASSKEYS_PER_PERSON_MAX = 20
