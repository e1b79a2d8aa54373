import type { GaugeReading } from '#api/metrics.ts'
import type { Context } from '#context.ts'
import { startOfDay, unixNow } from '#lib/time.ts'
import { settlingSettingOf } from '#money/x402/facilitator.ts'
import { oldestOpen } from '#money/x402/payment.ts'
import { outcomesOf } from '#money/x402/settle-payment.ts'
import type { Settling } from '#money/x402/settling.ts'
import { gasOfDay } from '#money/x402/settling-wallet.ts'

const WEI_PER_GWEI = 1_000_000_000n

/** Empty where x402 payments are not settled. */
export function settlingGauges(
  ctx: Context,
  settling: Settling | undefined,
): readonly GaugeReading[] {
  const gauge = (
    name: string,
    help: string,
    read: (settling: Settling) => Promise<Readonly<Record<string, number>>>,
  ): GaugeReading => ({
    name: `sexton_x402_${name}`,
    help,
    read: async () => (settling === undefined ? {} : await read(settling)),
  })
  return [
    gauge('payments', 'Payments since the start, by outcome', async () => ({ ...outcomesOf(ctx) })),
    gauge('open_seconds', 'Age of the oldest unfinished payment', async () => {
      const nowUnix = unixNow(ctx.clock)
      const oldestUnix = (await oldestOpen({ run: ctx.accounts.read })) ?? nowUnix
      return { oldest: Math.max(0, nowUnix - oldestUnix) }
    }),
    gauge(
      'gas_gwei',
      'Gas of the UTC day: what its transactions may cost at most, and the budget',
      () => readGas(ctx),
    ),
    gauge('wallet_gwei', 'Balance of the settling wallet', readWallet),
    gauge(
      'offers_shown',
      '1 while payments are offered and can be settled, else 0',
      async ({ isReady }) => ({ now: Number(await isReady()) }),
    ),
  ]
}

async function readGas(ctx: Context): Promise<Readonly<Record<string, number>>> {
  const setting = settlingSettingOf(ctx)
  if (setting?.kind !== 'wallet') return {}
  const used = await gasOfDay({ run: ctx.accounts.read }, startOfDay(unixNow(ctx.clock)))
  return { used: Number(used), ceiling: setting.gasPerDayGwei }
}

async function readWallet({ wallet, rpc }: Settling): Promise<Readonly<Record<string, number>>> {
  if (wallet === undefined) return {}
  return { balance: Number((await rpc.balance(wallet)) / WEI_PER_GWEI) }
}
