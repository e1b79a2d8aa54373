import { useEffect, useState } from 'preact/hooks'
import {
  getPrepayment,
  type ListedApiKey,
  type Pricing,
  type Service,
  SextonError,
} from 'sexton-client'
import { Banner } from '../parts/banners.tsx'
import { count, usd } from '../parts/format.ts'
import { sexton } from '../state/session.ts'
import { texts } from '../texts.ts'
import {
  balanceOf,
  type FoundTransfer,
  hasFailed,
  recentTransfers,
  sendTransfer,
  toMicro,
} from './erc20.ts'
import { Facts } from './gate.tsx'
import { Payment } from './payment.tsx'
import { remember, remembered, type SentPayment } from './pending-payment.ts'
import { Refusal, State } from './refusal.tsx'
import { useAction } from './use-action.ts'
import { chainIdOf, switchChain, type Wallet } from './wallet.ts'
import { isSettling, payByAuthorization } from './x402.ts'

const t = texts.topup
const AMOUNTS = ['1', '5', '20']
const LEAST = 10_000n
const MOST = 1_000_000_000n
/** How often the wallet is asked whether a transfer failed. */
const LOOK_MS = 2_000

export interface TopupProps {
  readonly wallet: Wallet
  readonly service: Service
  readonly pricing: Pricing
  /** Active ones. */
  readonly keys: readonly ListedApiKey[]
  onCredited(publicId: string, creditedUsd: number): void
}

/** What stands between the person and the payment, told before anything is sent. */
type Obstacle =
  | { readonly kind: 'network' }
  | { readonly kind: 'poor'; readonly held: bigint }
  | { readonly kind: 'amount' }
  | { readonly kind: 'failed' }

export function Topup(props: TopupProps) {
  const { pricing, keys, onCredited } = props
  const topup = useTopup(props)
  const { amount, key, paid, micro, action, settles, payment, found, credited } = topup
  if (payment !== undefined)
    return (
      <div class="stack">
        <Payment payment={payment} pricePerCall={pricing.perCallUsd} onCredited={onCredited} />
        <button type="button" class="btn small" onClick={topup.leave}>
          {t.title}
        </button>
      </div>
    )
  const isBlocked = key === undefined || action.isRunning
  return (
    <div class="stack">
      <h2 class="sub">{t.title}</h2>
      {credited !== '' && (
        <Banner kind="good" title={texts.payment.done(credited)}>
          {key !== undefined && texts.payment.doneMore(key)}
        </Banner>
      )}
      {found !== undefined && key !== undefined && (
        <Found found={found} claim={() => topup.claim(found.txHash, found.amount)} />
      )}
      <Amount amount={amount} choose={topup.setAmount} />
      <KeyChoice keys={keys} chosen={key} choose={topup.setPublicId} />
      <Facts lines={factsOf(pricing, micro)} />
      <ObstacleState {...props} obstacle={topup.obstacle} paid={paid} change={topup.change} />
      <p class="acts">
        <button type="button" class="btn primary" disabled={isBlocked} onClick={topup.send}>
          {t.send(paid, pricing.assetSymbol)}
        </button>
        {settles && (
          <button type="button" class="btn" disabled={isBlocked} onClick={topup.sign}>
            {t.sign}
          </button>
        )}
      </p>
      {settles && <p class="note">{t.signNote}</p>}
      <Refusal error={action.error} again={topup.again} />
    </div>
  )
}

/** What is chosen, under way and in the way; nothing is sent before the wallet was looked at. */
function useTopup({ wallet, service, pricing, keys, onCredited }: TopupProps) {
  const chainId = service.chains.find(({ name }) => name === pricing.network)?.chainId ?? 0
  const [amount, setAmount] = useState('5')
  const [publicId, setPublicId] = useState<string>()
  const [obstacle, setObstacle] = useState<Obstacle>()
  const [payment, setPayment] = useState<SentPayment | undefined>(remembered)
  const [found, setFound] = useState<FoundTransfer>()
  const [credited, setCredited] = useState('')
  const [settles, setSettles] = useState(false)
  const [last, setLast] = useState<() => Promise<void>>()
  const action = useAction()
  const key = keys.find((each) => each.publicId === publicId)?.publicId ?? keys[0]?.publicId
  const micro = toMicro(amount) ?? 0n
  useEffect(() => {
    isSettling().then(setSettles, () => setSettles(false))
    if (payment === undefined)
      findUnclaimed(wallet, pricing).then(setFound, () => setFound(undefined))
  }, [wallet.address])
  useFailure(wallet, payment?.txHash, () => {
    remember(undefined)
    setPayment(undefined)
    setObstacle({ kind: 'failed' })
  })
  const run = (work: (key: string) => Promise<void>) => {
    if (key === undefined) return
    const checked = async () => {
      const inTheWay = await obstacleOf(wallet, { micro, chainId, asset: pricing.asset })
      setObstacle(inTheWay)
      if (inTheWay === undefined) await work(key)
    }
    setLast(() => checked)
    action.run(checked)
  }
  const claim = (txHash: string, sum: bigint) => {
    if (key === undefined) return
    const next = { txHash, publicId: key, payer: wallet.address, usd: Number(sum) / 1e6 }
    remember(next)
    setFound(undefined)
    setPayment(next)
  }
  return {
    ...{ amount, setAmount, key, setPublicId, micro, obstacle, payment, found, credited, settles },
    ...{ action, claim, paid: usd(Number(micro) / 1e6) },
    again: () => last !== undefined && action.run(last),
    leave: () => setPayment(undefined),
    change: () =>
      action.run(async () => {
        await switchChain(wallet, chainId)
        setObstacle(undefined)
      }),
    send: () =>
      run(async () => {
        const { asset, payTo: to } = pricing
        claim(await sendTransfer(wallet, { chainId, asset, to, amount: micro }), micro)
      }),
    sign: () =>
      run(async (own) => {
        const topup = await payByAuthorization(wallet, {
          usd: amount,
          amount: micro,
          publicId: own,
        })
        setCredited(usd(topup.creditedUsd))
        onCredited(own, topup.creditedUsd)
      }),
  }
}

/** Asks the wallet until the transfer is in a block. */
function useFailure(wallet: Wallet, txHash: string | undefined, onFailed: () => void): void {
  useEffect(() => {
    if (txHash === undefined) return
    const timer = setInterval(async () => {
      const failed = await hasFailed(wallet, txHash).catch(() => undefined)
      if (failed !== undefined) clearInterval(timer)
      if (failed === true) onFailed()
    }, LOOK_MS)
    return () => clearInterval(timer)
  }, [txHash])
}

async function obstacleOf(
  wallet: Wallet,
  input: { readonly micro: bigint; readonly chainId: number; readonly asset: string },
): Promise<Obstacle | undefined> {
  const { micro, chainId, asset } = input
  if (micro < LEAST || micro > MOST) return { kind: 'amount' }
  if ((await chainIdOf(wallet)) !== chainId) return { kind: 'network' }
  const held = await balanceOf(wallet, asset)
  return held < micro ? { kind: 'poor', held } : undefined
}

function factsOf(pricing: Pricing, micro: bigint): readonly (readonly [string, string])[] {
  const calls = count(Number(micro) / 1e6 / Number(pricing.perCallUsd))
  return [
    [t.calls, t.callsAt(calls, `$${pricing.perCallUsd}`)],
    [t.asset, t.assetOn(pricing.assetSymbol, pricing.network)],
    [t.payee, pricing.payTo],
    [t.fee, t.feePaid],
  ]
}

function Found({ found, claim }: { readonly found: FoundTransfer; claim(): void }) {
  return (
    <State
      title={texts.payment.found}
      more={texts.payment.foundMore(usd(Number(found.amount) / 1e6))}
    >
      <button type="button" class="btn primary small" onClick={claim}>
        {texts.payment.claim}
      </button>
    </State>
  )
}

function KeyChoice(props: {
  readonly keys: readonly ListedApiKey[]
  readonly chosen: string | undefined
  choose(publicId: string): void
}) {
  const { keys, chosen, choose } = props
  return (
    <label class="field">
      <span>{t.key}</span>
      <select
        class="in"
        value={chosen ?? ''}
        disabled={keys.length === 0}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {keys.map((each) => (
          <option key={each.publicId} value={each.publicId}>
            {each.publicId} {each.label}
          </option>
        ))}
        {keys.length === 0 && <option value="">{t.needKey}</option>}
      </select>
    </label>
  )
}

function Amount({ amount, choose }: { readonly amount: string; choose(amount: string): void }) {
  return (
    <div class="inline">
      <fieldset class="seg">
        <legend class="vh">{t.amount}</legend>
        {AMOUNTS.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === amount}
            onClick={() => choose(each)}
          >
            ${each}
          </button>
        ))}
      </fieldset>
      <label class="field">
        <span>{t.other}</span>
        <input
          class="in"
          inputMode="decimal"
          aria-label={t.amount}
          value={amount}
          onInput={(event) => choose(event.currentTarget.value)}
        />
      </label>
    </div>
  )
}

function ObstacleState(props: {
  readonly obstacle: Obstacle | undefined
  readonly pricing: Pricing
  readonly paid: string
  change(): void
}) {
  const { obstacle, pricing, paid, change } = props
  const { assetSymbol: symbol, network } = pricing
  if (obstacle === undefined) return null
  if (obstacle.kind === 'failed') return <State title={t.failed} more={t.failedMore} />
  if (obstacle.kind === 'amount') return <State title={t.amountWrong} more="" />
  if (obstacle.kind === 'poor') {
    const held = `${(Number(obstacle.held) / 1e6).toFixed(2)} ${symbol}`
    return <State title={t.poor(symbol)} more={t.poorMore(paid, held)} />
  }
  return (
    <State title={t.network(network)} more={t.networkMore(symbol, network)}>
      <button type="button" class="btn primary small" onClick={change}>
        {t.switch(network)}
      </button>
    </State>
  )
}

/** A transfer of this wallet that no key has claimed: the page was closed in the middle of a payment. */
async function findUnclaimed(
  wallet: Wallet,
  { asset, payTo: to }: Pricing,
): Promise<FoundTransfer | undefined> {
  for (const transfer of await recentTransfers(wallet, { asset, to })) {
    try {
      await getPrepayment(sexton(), { idOrTxHash: transfer.txHash })
    } catch (error) {
      if (error instanceof SextonError && error.code === 'prepayment_not_found') return transfer
      throw error
    }
  }
  return undefined
}
