/** Line icons, 16 px, drawn with the colour of the text. Beside a text they say nothing to a screen reader. */

const PATHS = {
  overview: 'M2.5 13.5v-5M6.2 13.5v-9M9.8 13.5V7M13.5 13.5v-11',
  calendar:
    'M2.5 4.5a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1zM2.5 6.7h11M5.5 2v3M10.5 2v3M5 9.2h3.5M7.5 11.3H11',
  bookings: 'M3 2.5h10v11H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3',
  guests:
    'M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M10.5 2.8a2.5 2.5 0 0 1 0 4.4M12 9.8c1.5.600 2.5 1.9 2.5 3.7',
  units: 'M2.5 7.5 8 2.5l5.5 5v6h-11zM6.5 13.5V9.5h3v4',
  fees: 'M8.5 2.5h5v5l-6 6-5-5zM11 5h.01',
  keys: 'M5.5 13.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM7.6 8.4l5.9-5.9M11 5l2 2',
  webhooks: 'M2.5 8h3l1.5-4 2.5 8 1.5-4h2.5',
  audit: 'M8 4.5V8l2.3 1.5M2.5 8A5.5 5.5 0 1 0 4.3 3.9M2.5 2.5v2.3h2.3',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.5l3.3 3.3L13 4.5',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2',
  left: 'M10 3.5L5.5 8l4.5 4.5',
  right: 'M6 3.5L10.5 8 6 12.5',
  up: 'M3.5 10L8 5.5l4.5 4.5',
  down: 'M3.5 6L8 10.5 12.5 6',
  sun: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M3.4 12.6l.9-.9M11.7 4.3l.9-.9',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  signout: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  warning: 'M8 2.5L14 13H2zM8 6.5v3M8 11.3h.01',
  info: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 7.5v3.2M8 5.3h.01',
  filter: 'M2.5 4h11M4.5 8h7M6.5 12h3',
  refresh: 'M13.5 8a5.5 5.5 0 1 1-1.6-3.9M13.5 2.5v2.3h-2.3',
  external: 'M9 2.5h4.5V7M13.5 2.5L7.5 8.5M11.5 9.5v4h-9v-9h4',
  arrive: 'M9.5 2.5h4v11h-4M3 5l3 3-3 3M6 8h-4.5M10 8H6',
  depart: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  home: 'M2.5 7.5 8 2.5l5.5 5v6h-11z',
  together: 'M5.8 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10.2 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z',
  clock: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 4.8V8l2.2 1.3',
  download: 'M8 2.5v7.5M4.8 7L8 10.2 11.2 7M2.5 13.5h11',
  erase: 'M9.5 3L13 6.5 7.5 12H5L3 10zM6 6.5L9.5 10M2.5 13.5h11',
  edit: 'M10.5 3l2.5 2.5-7.5 7.5H3v-2.5zM9 4.5L11.5 7',
  user: 'M8 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3 13.5c0-2.5 2.2-4 5-4s5 1.5 5 4',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

/** The mark of the service. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
      <rect class="mark-ground" width="32" height="32" rx="7" />
      <path
        class="mark-moon"
        d="M20.6 19.9A8.2 8.2 0 0 1 12.1 9a8.2 8.2 0 1 0 10.6 10.5 8 8 0 0 1-2.1.4Z M19.5 8h5v1.8h-5z M19.5 12h5v1.8h-5z"
      />
    </svg>
  )
}
