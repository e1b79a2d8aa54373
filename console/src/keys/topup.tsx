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
import { balanceOf, type FoundTransfer, recentTransfers, sendTransfer, toMicro } from './erc20.ts'
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

export function Topup(props: TopupProps) {
  const { wallet, service, pricing, keys, onCredited } = props
  const chain = service.chains.find(({ name }) => name === pricing.network)
  const [amount, setAmount] = useState('5')
  const [publicId, setPublicId] = useState<string>()
  const [obstacle, setObstacle] = useState<Obstacle>()
  const [payment, setPayment] = useState<SentPayment | undefined>(remembered)
  const [found, setFound] = useState<FoundTransfer>()
  const [credited, setCredited] = useState('')
  const [settles, setSettles] = useState(false)
  const action = useAction()
  const [last, setLast] = useState<() => Promise<void>>()
  const key = publicId ?? keys[0]?.publicId
  const micro = toMicro(amount) ?? 0n
  const paid = usd(Number(micro) / 1e6)

  useEffect(() => {
    isSettling().then(setSettles, () => setSettles(false))
    if (payment === undefined)
      findUnclaimed(wallet, pricing).then(setFound, () => setFound(undefined))
  }, [wallet.address])

  const run = (work: () => Promise<void>) => {
    setLast(() => work)
    return action.run(async () => {
      setObstacle(undefined)
      if (micro < LEAST || micro > MOST) return setObstacle({ kind: 'amount' })
      if ((await chainIdOf(wallet)) !== chain?.chainId) return setObstacle({ kind: 'network' })
      const held = await balanceOf(wallet, pricing.asset)
      if (held < micro) return setObstacle({ kind: 'poor', held })
      await work()
    })
  }
  const start = (next: SentPayment) => {
    remember(next)
    setFound(undefined)
    setPayment(next)
  }
  const send = async () => {
    if (key === undefined) return
    const { asset, payTo: to } = pricing
    const txHash = await sendTransfer(wallet, { asset, to, amount: micro })
    start({ txHash, publicId: key, payer: wallet.address, usd: Number(micro) / 1e6 })
  }
  const sign = async () => {
    if (key === undefined) return
    const topup = await payByAuthorization(wallet, { usd: amount, publicId: key })
    setCredited(usd(topup.creditedUsd))
    onCredited(key, topup.creditedUsd)
  }

  if (payment !== undefined)
    return (
      <div class="stack">
        <Payment payment={payment} pricePerCall={pricing.perCallUsd} onCredited={onCredited} />
        <button type="button" class="btn small" onClick={() => setPayment(undefined)}>
          {t.title}
        </button>
      </div>
    )
  return (
    <div class="stack">
      <h2 class="sub">{t.title}</h2>
      {credited !== '' && (
        <Banner kind="good" title={texts.payment.done(credited)}>
          {key !== undefined && texts.payment.doneMore(key)}
        </Banner>
      )}
      {found !== undefined && key !== undefined && (
        <State
          title={texts.payment.found}
          more={texts.payment.foundMore(usd(Number(found.amount) / 1e6))}
        >
          <button
            type="button"
            class="btn primary small"
            onClick={() =>
              start({
                txHash: found.txHash,
                publicId: key,
                payer: wallet.address,
                usd: Number(found.amount) / 1e6,
              })
            }
          >
            {texts.payment.claim}
          </button>
        </State>
      )}
      <Amount amount={amount} choose={setAmount} />
      <label class="field">
        <span>{t.key}</span>
        <select
          class="in"
          value={key ?? ''}
          disabled={keys.length === 0}
          onChange={(event) => setPublicId(event.currentTarget.value)}
        >
          {keys.map((each) => (
            <option key={each.publicId} value={each.publicId}>
              {each.publicId} {each.label}
            </option>
          ))}
          {keys.length === 0 && <option value="">{t.needKey}</option>}
        </select>
      </label>
      <Facts
        lines={[
          [
            t.calls,
            t.callsAt(
              count(Number(micro) / 1e6 / Number(pricing.perCallUsd)),
              `$${pricing.perCallUsd}`,
            ),
          ],
          [t.asset, t.assetOn(pricing.assetSymbol, pricing.network)],
          [t.payee, pricing.payTo],
          [t.fee, t.feePaid],
        ]}
      />
      <ObstacleState
        obstacle={obstacle}
        pricing={pricing}
        paid={paid}
        change={() =>
          action.run(async () => {
            await switchChain(wallet, chain?.chainId ?? 0)
            setObstacle(undefined)
          })
        }
      />
      <p class="acts">
        <button
          type="button"
          class="btn primary"
          disabled={key === undefined || action.isRunning}
          onClick={() => run(send)}
        >
          {t.send(paid, pricing.assetSymbol)}
        </button>
        {settles && (
          <button
            type="button"
            class="btn"
            disabled={key === undefined || action.isRunning}
            onClick={() => run(sign)}
          >
            {t.sign}
          </button>
        )}
      </p>
      {settles && <p class="note">{t.signNote}</p>}
      <Refusal error={action.error} again={() => last !== undefined && run(last)} />
    </div>
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
  for (const transfer of (await recentTransfers(wallet, { asset, to })).slice(0, 3)) {
    try {
      await getPrepayment(sexton(), { idOrTxHash: transfer.txHash })
    } catch (error) {
      if (error instanceof SextonError && error.code === 'prepayment_not_found') return transfer
      throw error
    }
  }
  return undefined
}
