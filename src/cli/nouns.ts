/** The nouns of the command line: which operation each verb is, and which columns a list shows. */
import { addAuditProof } from './audit-proof.ts'
import { calendarUrl } from './calendar.ts'
import { addGuestData } from './guest-data.ts'
import { importIcal } from './import-ical.ts'
import type { Json } from './portal-client.ts'
import { RATE_FLAGS, showRates } from './rates.ts'
import { addResend } from './resend.ts'
import { RESTRICTION_FLAGS, showRestrictions } from './restrictions.ts'
import { type Columns, listing, table } from './table.ts'
import type { Noun } from './verbs.ts'

const DELIVERIES: Columns = {
  ID: 'id',
  EVENT: 'event',
  STATUS: 'status',
  ATTEMPTS: ({ attempts }) => (attempts as Json[]).length,
  LAST: ({ attempts }) => resultOf((attempts as Json[]).at(-1)),
  NEXT: 'nextAttemptAt',
  CREATED: 'createdAt',
}
const STAYS: Columns = { BOOKING: 'id', UNIT: 'unitSlug', ARRIVAL: 'arrival', DEPARTURE: 'departure', STATUS: 'status' }

export const NOUNS: Readonly<Record<string, Noun>> = {
  agencies: {
    summary: 'create, show and change agencies',
    verbs: {
      list: {
        operation: 'listAgencies',
        columns: {
          SLUG: 'slug',
          NAME: 'name',
          STATUS: 'status',
          CURRENCY: 'currency',
          'TIME ZONE': 'timezone',
          ID: 'id',
        },
      },
      create: { operation: 'createAgency', names: { plan: '' } },
      show: 'getAgency',
      update: { operation: 'changeAgency', names: { plan: '' } },
    },
  },
  keys: {
    summary: 'create, list and revoke API keys',
    verbs: {
      list: {
        operation: 'listKeys',
        columns: {
          ID: 'id',
          NAME: 'name',
          PREFIX: 'prefix',
          SCOPES: 'scopes',
          'LAST USED': 'lastUsedAt',
          EXPIRES: 'expiresAt',
          REVOKED: 'revokedAt',
        },
      },
      create: 'createKey',
      revoke: 'revokeKey',
    },
  },
  sandbox: {
    summary: "make the agency's sandbox, move its time, make it new",
    verbs: {
      show: 'getSandbox',
      create: 'createSandbox',
      reset: 'resetSandbox',
      delete: 'deleteSandbox',
      advance: { operation: 'moveSandboxClock', names: { advanceSeconds: 'seconds', now: 'to' } },
    },
  },
  people: {
    summary: 'list, invite, change and remove the people of an agency',
    verbs: {
      list: {
        operation: 'listPeople',
        columns: {
          ID: 'id',
          NAME: 'name',
          EMAIL: 'email',
          ROLE: 'role',
          PASSKEYS: 'passkeys',
          'LAST SEEN': 'lastSeenAt',
          'INVITED UNTIL': 'invitedUntil',
        },
      },
      add: 'createPerson',
      update: 'updatePerson',
      invite: 'invitePerson',
      remove: 'removePerson',
    },
  },
  'access-tokens': {
    summary: 'create, list and revoke access tokens of the programs of an agency',
    verbs: {
      list: {
        operation: 'listAccessTokens',
        columns: {
          ID: 'id',
          NAME: 'name',
          ROLE: 'role',
          PREFIX: 'prefix',
          EXPIRES: 'expiresAt',
          REVOKED: 'revokedAt',
        },
      },
      create: 'createAccessToken',
      revoke: 'revokeAccessToken',
    },
  },
  units: {
    summary: 'create, show and change units',
    verbs: {
      list: {
        operation: 'listUnits',
        columns: {
          SLUG: 'slug',
          NAME: 'name',
          STATUS: 'status',
          CITY: 'city',
          GUESTS: 'maxGuests',
          PRICE: 'basePrice',
          'MIN STAY': 'minStay',
          TURNOVER: 'turnoverNights',
        },
      },
      create: 'createUnit',
      show: 'getUnit',
      update: 'changeUnit',
    },
    ownVerbs: calendarUrl,
  },
  rates: {
    summary: "show and set a unit's rates",
    verbs: {
      show: { operation: 'getRates', show: showRates },
      set: {
        operation: 'setRates',
        ownFlags: RATE_FLAGS,
        show: showRates,
        examples: ['--season Summer:2027-06-01:2027-09-01:18000:3 --weekday 5:15 --weekday 6:15 --discount 7:10'],
      },
    },
  },
  restrictions: {
    summary: "show and set a unit's restrictions: which stays can be booked",
    verbs: {
      show: { operation: 'getRestrictions', show: showRestrictions },
      set: {
        operation: 'setRestrictions',
        ownFlags: RESTRICTION_FLAGS,
        show: showRestrictions,
        examples: [
          '--rule closedToArrival:true:2027-07-01:2027-09-01:123457 --rule minStayThrough:7:2027-12-28:2028-01-02',
          '--advance-notice-hours 24 --booking-window-days 365',
        ],
      },
    },
  },
  'fee-types': {
    summary: 'create, list and change fees',
    verbs: {
      list: {
        operation: 'listFeeTypes',
        columns: {
          ID: 'id',
          LABEL: 'label',
          KIND: 'kind',
          AMOUNT: 'amount',
          PERCENT: 'pct',
          APPLICATION: 'application',
          ACTIVE: ({ active }) => (active === true ? 'yes' : 'no'),
        },
      },
      create: 'createFeeType',
      update: 'changeFeeType',
    },
  },
  bookings: {
    summary: 'create, show, change and cancel bookings',
    verbs: {
      list: {
        operation: 'listBookings',
        examples: ['--from 2027-05-01 --to 2027-05-31 --status confirmed'],
        columns: {
          ID: 'id',
          UNIT: 'unitSlug',
          ARRIVAL: 'arrival',
          DEPARTURE: 'departure',
          TYPE: 'type',
          STATUS: 'status',
          SOURCE: 'source',
          GUEST: ({ guest }) => nameOf(guest as Json | null),
          TOTAL: 'totalAmount',
        },
      },
      create: {
        operation: 'createBooking',
        examples: [
          '--unit sea-view --arrival 2027-06-01 --departure 2027-06-04 --guest-first-name Ana --guest-last-name Reis',
        ],
      },
      show: 'getBooking',
      update: {
        operation: 'changeBooking',
        examples: ['--unit garden --departure 2027-06-06', '--unit garden --pricing keep --dry-run'],
      },
      cancel: 'cancelBooking',
      history: {
        operation: 'getBookingHistory',
        columns: {
          VERSION: 'version',
          AT: 'at',
          EVENT: 'event',
          STATUS: 'status',
          UNIT: 'unitSlug',
          ARRIVAL: 'arrival',
          DEPARTURE: 'departure',
          TOTAL: 'totalAmount',
          BY: 'by',
        },
      },
      'erase-texts': 'eraseBookingTexts',
    },
    ownVerbs: importIcal,
  },
  guests: {
    summary: 'show, change, export and erase guests',
    verbs: {
      list: {
        operation: 'listGuests',
        columns: { ID: 'id', NAME: nameOf, 'E-MAIL': 'email', PHONE: 'phone', NATIONALITY: 'nationality' },
      },
      show: {
        operation: 'getGuest',
        show: (answer, terminal) => {
          const { stays, ...guest } = answer['guest'] as Json
          terminal.out(`${listing(guest)}\n${table(stays as Json[], STAYS, 'No stays.')}`)
        },
      },
      update: 'changeGuest',
    },
    ownVerbs: addGuestData,
  },
  webhooks: {
    summary: 'manage webhook endpoints',
    verbs: {
      list: {
        operation: 'listWebhookEndpoints',
        columns: { ID: 'id', URL: 'url', STATUS: 'status', REASON: 'disabledReason', FAILURES: 'consecutiveFailures' },
      },
      create: { operation: 'createWebhookEndpoint', names: { url: 'endpointUrl' } },
      show: 'getWebhookEndpoint',
      update: { operation: 'changeWebhookEndpoint', names: { url: 'endpointUrl' } },
      enable: {
        operation: 'changeWebhookEndpoint',
        summary: 'Re-enable a webhook endpoint',
        ownFlags: {
          add: (command) => command.requiredOption('--pending <resend|drop>', 'what to do with held deliveries'),
          body: ({ pending }) => ({ status: 'active', pending }),
        },
      },
      delete: 'deleteWebhookEndpoint',
      ping: 'pingWebhookEndpoint',
      'rotate-secret': 'rotateWebhookSecret',
      deliveries: { operation: 'listWebhookDeliveries', columns: DELIVERIES },
    },
    ownVerbs: addResend,
  },
  retention: {
    summary: 'show and set how long an agency keeps what; remove now what is due',
    verbs: {
      show: 'getRetention',
      set: 'setRetention',
      run: { operation: 'runRetention', examples: ['--dry-run'] },
    },
  },
  audit: {
    summary: 'show who did what, and prove it',
    verbs: {
      list: {
        operation: 'listAudit',
        isDefault: true,
        // `--token` is what the command itself signs in with.
        names: { token: 'accessToken' },
        examples: ['--outcome BOOKING_CONFLICT --from 2027-05-01'],
        columns: {
          AT: 'at',
          ACTOR: ({ actor }) =>
            Object.values(actor as Json)
              .filter(Boolean)
              .join(' '),
          ROUTE: 'route',
          OUTCOME: 'outcome',
          COUNT: 'count',
          BOOKING: 'bookingId',
          REQUEST: 'requestId',
        },
      },
    },
    ownVerbs: addAuditProof,
  },
  usage: {
    summary: 'show how many requests were made',
    verbs: {
      list: {
        operation: 'listUsage',
        isDefault: true,
        columns: { MONTH: 'month', USED: 'used', QUOTA: 'quota', REMAINING: 'remaining' },
      },
    },
  },
}

function nameOf(guest: Json | null): string | null {
  return guest === null ? null : `${guest['firstName']} ${guest['lastName']}`
}

/** Of an attempt, if there was one. */
function resultOf(attempt: Json | undefined): unknown {
  return attempt === undefined ? null : (attempt['httpStatus'] ?? attempt['reason'])
}
