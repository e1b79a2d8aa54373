import type { GaugeReading } from '#api/metrics.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import { type FacilitatorReadiness, readPublished } from '#money/x402/facilitators/readiness.ts'
import { gasOfDay } from '#money/x402/settling/gas-days.ts'
import { countOpenPayments } from '#money/x402/settling/payment-store.ts'
import type { SettlingRpc } from '#money/x402/settling/settling-rpc.ts'
import type { Engine } from '#store/engine.ts'

export interface SettlingGaugeDeps {
  readonly engine: Pick<Engine, 'read'>
  readonly clock: Clock
  readonly rpc: Pick<SettlingRpc, 'balance'>
  readonly readiness: FacilitatorReadiness
  /** Undefined where another service settles. */
  readonly gasPerDayGwei: bigint | undefined
  readonly outcomes: Readonly<Record<string, number>>
}

const WEI_PER_GWEI = 1_000_000_000n

export function settlingGauges(settling: SettlingGaugeDeps | undefined): readonly GaugeReading[] {
  const gauge = (
    name: string,
    help: string,
    read: (deps: SettlingGaugeDeps) => Promise<Readonly<Record<string, number>>>,
  ): GaugeReading => ({
    name: `sexton_x402_${name}`,
    help,
    read: async () => (settling === undefined ? {} : await read(settling)),
  })
  return [
    gauge('payments', 'Payments since the start, by outcome', async (deps) => ({
      ...deps.outcomes,
    })),
    gauge('open_seconds', 'Age of the oldest unfinished payment', async (deps) => {
      const open = await countOpenPayments({ run: deps.engine.read })
      const ages = open.map(({ oldestUnix }) => unixNow(deps.clock) - oldestUnix)
      return { oldest: Math.max(0, ...ages) }
    }),
    gauge(
      'gas_gwei',
      'Gas of the UTC day: what its transactions may cost at most, and the budget',
      readGas,
    ),
    gauge('wallet_gwei', 'Balance of the settling wallet', readWallet),
    gauge(
      'offers_shown',
      '1 while payments are offered and can be settled, else 0',
      async (deps) => ({
        now: Number(await deps.readiness.isReady()),
      }),
    ),
  ]
}

async function readGas(deps: SettlingGaugeDeps): Promise<Readonly<Record<string, number>>> {
  const { engine, clock, gasPerDayGwei } = deps
  if (gasPerDayGwei === undefined) return {}
  const used = await gasOfDay({ run: engine.read }, startOfDay(unixNow(clock)))
  return { used: Number(used), ceiling: Number(gasPerDayGwei) }
}

async function readWallet(deps: SettlingGaugeDeps): Promise<Readonly<Record<string, number>>> {
  const wallet = (await readPublished({ run: deps.engine.read }))?.wallet ?? null
  return wallet === null ? {} : { balance: Number((await deps.rpc.balance(wallet)) / WEI_PER_GWEI) }
}
