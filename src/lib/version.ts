/** As in package.json; a test holds it. */
export const VERSION = '0.1.0'
