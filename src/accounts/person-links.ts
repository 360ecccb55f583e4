/** How long an invitation is good for. */
export const INVITATION_HOURS = 72
