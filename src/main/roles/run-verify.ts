import type { RoleState } from '#operations/health/index-gauges.ts'
import { describeJobs, jobGauges } from '#operations/health/job-gauges.ts'
import { stateOfRegister, watchAccounts } from '#operations/health/store-state.ts'
import { allJobs } from '../jobs/job-list.ts'
import type { ExitCode, RoleContext } from '../role-context.ts'
import { openService, type Service } from '../service.ts'
import { accountsMigrations } from '../stores.ts'
import { untilStopped } from './until-stopped.ts'
import { runVerifyRole } from './verify-role.ts'

/** `sexton verify`: the verifier alone. Waiting requests are in other processes, which poll. */
export async function runVerify(context: RoleContext): Promise<ExitCode> {
  const service = await openService(context)
  const state: RoleState = { leads: undefined }
  const probe = await openProbe(service, state).catch(async (error: unknown) => {
    await service.stores.close()
    throw error
  })
  const ending = new AbortController()
  const onLead = (leads: boolean) => {
    state.leads = leads
  }
  const verifying = runVerifyRole({ ...service, onChange: () => undefined, onLead }, ending.signal)
  const stop = async () => {
    ending.abort()
    await verifying
  }
  try {
    context.logger.info('verifying prepayments')
    return await untilStopped(context, stop, verifying)
  } finally {
    await probe?.stop()
    await service.stores.close()
  }
}

async function openProbe(service: Service, state: RoleState) {
  const { settings, stores, clock } = service
  if (settings.verifyMetrics === undefined) return undefined
  const accounts = watchAccounts({
    ...{ engine: stores.accounts, migrations: accountsMigrations, clock },
  })
  const jobs = { clock, lists: allJobs(service) }
  // Loads prom-client.
  const { openRoleProbe } = await import('#operations/health/role-probe.ts')
  return openRoleProbe(
    {
      role: 'verifier',
      state,
      gauges: jobGauges(jobs),
      stores: async () => ({
        register: await stateOfRegister(stores.register),
        accounts: await accounts(),
      }),
      more: () => describeJobs(jobs),
    },
    settings.verifyMetrics,
  )
}
