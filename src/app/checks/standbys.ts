import { checkStandbys, ServerError } from '../../postgres/client/check-server.ts'
import { parseDatabaseUrl } from '../../postgres/client/database-url.ts'
import { type Check, type DatabaseWorld, failure, ok, warning } from './check.ts'

const FIX =
  '`psql -c "alter system set synchronous_standby_names = \'db2\'" -c "select pg_reload_conf()"`, with the name of the standby, as a superuser on the primary.'

const CONTINUE_WITHOUT =
  'Start the standby. To continue without one: `psql -c "alter system set synchronous_standby_names = \'\'" -c "select pg_reload_conf()"`, ' +
  'as a superuser on the primary.'

/** Whether acknowledged writes survive the loss of the primary. A start makes the same check. */
export const standbys: Check<DatabaseWorld> = {
  name: 'standbys',
  run: async ({ sql, config }) => {
    try {
      const { isSynchronous, isAwaited, asynchronous } = await checkStandbys(sql, {
        isRequired: config.requireSynchronousStandby,
      })
      if (isAwaited)
        return [
          failure(
            'Commits wait for a synchronous standby, and none is connected: no booking can be made.',
            CONTINUE_WITHOUT,
          ),
        ]
      if (asynchronous.length > 0)
        return [
          warning(
            `The standby ${asynchronous.join(', ')} is asynchronous: a fail-over to it can lose acknowledged bookings.`,
            FIX,
          ),
        ]
      if (isSynchronous) return [ok('Commits wait for a standby.')]
      if ((parseDatabaseUrl(config.databaseUrl ?? '')?.hosts.length ?? 0) > 1)
        return [
          warning(
            'DATABASE_URL names several hosts, but commits wait for no standby: a fail-over can lose acknowledged bookings.',
            FIX,
          ),
        ]
      return [ok('Commits wait for no standby, and no fail-over is configured.')]
    } catch (error) {
      if (!(error instanceof ServerError)) throw error
      return [failure(error.message, FIX)]
    }
  },
}
