import type { GaugeReading } from '#api/metrics.ts'
import type { Payment } from '#ecosystem/ecosystem.ts'
import { type Clock, startOfDay, unixNow } from '#lib/time.ts'
import type { Engine } from '#store/engine.ts'
import type { Availability } from '#x402/offers/availability.ts'
import { countOpenIntents } from '#x402/settling/intent-store.ts'
import { gasOfDay } from '#x402/settling/settler-store.ts'
import type { SettlingRpc } from '#x402/settling/settling-rpc.ts'
import type { SettlingSigner } from '#x402/settling/settling-signer.ts'

export interface SettlingGaugeDeps {
  readonly engine: Pick<Engine, 'read'>
  readonly clock: Clock
  readonly payment: Pick<Payment, 'chain'>
  readonly rpc: Pick<SettlingRpc, 'balance'>
  readonly signer: Pick<SettlingSigner, 'address'>
  readonly availability: Availability
  readonly gasPerDayGwei: bigint
  readonly outcomes: Readonly<Record<string, number>>
}

const WEI_PER_GWEI = 1_000_000_000n

export function settlingGauges(
  settling: () => SettlingGaugeDeps | undefined,
): readonly GaugeReading[] {
  const gauge = (
    name: string,
    help: string,
    read: (deps: SettlingGaugeDeps) => Promise<Readonly<Record<string, number>>>,
  ): GaugeReading => ({
    name: `sexton_x402_${name}`,
    help,
    async read() {
      const deps = settling()
      return deps === undefined ? {} : await read(deps)
    },
  })
  return [
    gauge('payments', 'Payments since the start, by outcome', async (deps) => ({
      ...deps.outcomes,
    })),
    gauge('open_payments', 'Payments not finished yet, by state', async ({ engine }) => {
      const open = await countOpenIntents({ run: engine.read })
      const counts = Object.fromEntries(open.map(({ status, count }) => [status, count]))
      return { reserved: 0, submitted: 0, ...counts }
    }),
    gauge('open_seconds', 'Age of the oldest unfinished payment', async (deps) => {
      const open = await countOpenIntents({ run: deps.engine.read })
      const ages = open.map(({ oldestUnix }) => unixNow(deps.clock) - oldestUnix)
      return { oldest: Math.max(0, ...ages) }
    }),
    gauge('gas_gwei', 'Gas of the UTC day: reserved or paid, and the budget', readGas),
    gauge('wallet_gwei', 'Balance of the settling wallet', async ({ rpc, signer }) => ({
      balance: Number((await rpc.balance(signer.address)) / WEI_PER_GWEI),
    })),
    gauge(
      'offers_shown',
      '1 while payments are offered and can be settled, else 0',
      async (deps) => ({
        now: Number(await deps.availability.isAvailable()),
      }),
    ),
  ]
}

async function readGas(deps: SettlingGaugeDeps): Promise<Readonly<Record<string, number>>> {
  const { engine, signer, payment, clock } = deps
  const name = { chainId: payment.chain.id, settler: signer.address }
  const today = startOfDay(unixNow(clock))
  const used = await gasOfDay({ run: engine.read }, name, today)
  return { used: Number(used), ceiling: Number(deps.gasPerDayGwei) }
}
