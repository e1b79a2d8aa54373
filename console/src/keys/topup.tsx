import type { Pricing } from 'sexton-client'
import { Banner } from '../parts/banners.tsx'
import { count, usd } from '../parts/format.ts'
import { texts } from '../texts.ts'
import { callsFor, exactUsd, type FoundTransfer } from './erc20.ts'
import { Facts } from './gate.tsx'
import { Payment } from './payment.tsx'
import { Refusal, State } from './refusal.tsx'
import type { OwnKey } from './use-keys.ts'
import { type TopupProps, useTopup } from './use-topup.ts'

const t = texts.topup
const AMOUNTS = ['1', '5', '20']

type Topup = ReturnType<typeof useTopup>

export function Topup(props: TopupProps) {
  const { wallet, pricing, keys, onCredited } = props
  const topup = useTopup(props)
  const { key, payments } = topup
  return (
    <div class="stack">
      {payments.shown.map((payment) => (
        <Payment
          key={payment.txHash}
          {...{ payment, wallet, onCredited }}
          pricePerCall={pricing.perCallUsd}
          onFailed={() => {
            payments.drop(payment.txHash)
            topup.setObstacle({ kind: 'failed' })
          }}
          forget={() => payments.drop(payment.txHash)}
        />
      ))}
      {key !== undefined &&
        payments.found.map((found) => (
          <Found
            key={found.txHash}
            found={found}
            claim={() => payments.follow(key, found)}
            ignore={() => payments.ignore(found.txHash)}
          />
        ))}
      {payments.shown.length === 0 || payments.isAdding ? (
        <Form {...{ topup, pricing, keys }} />
      ) : (
        <button type="button" class="btn small" onClick={payments.add}>
          {t.title}
        </button>
      )}
    </div>
  )
}

function Form(props: {
  readonly topup: Topup
  readonly pricing: Pricing
  readonly keys: readonly OwnKey[]
}) {
  const { topup, pricing, keys } = props
  const { amount, key, paid, micro, action, authorization } = topup
  const { open, isOffered, credited } = authorization
  const isBlocked = key === undefined || action.isRunning
  return (
    <>
      <h2 class="sub">{t.title}</h2>
      {credited !== undefined && (
        <Banner kind="good" title={texts.payment.done(usd(credited.usd))}>
          {texts.payment.doneMore(credited.key)}
        </Banner>
      )}
      <Amount amount={amount} choose={topup.setAmount} />
      <KeyChoice keys={keys} chosen={key} choose={topup.setPublicId} />
      <Facts lines={factsOf(pricing, micro, topup.held)} />
      <ObstacleState topup={topup} pricing={pricing} />
      {open !== undefined && (
        <State title={t.unsettled} more={t.unsettledMore(`$${open.usd}`, open.publicId)} />
      )}
      <p class="acts">
        <button
          type="button"
          class="btn primary"
          disabled={isBlocked}
          onClick={() => topup.run('send')}
        >
          {t.send(paid, pricing.assetSymbol)}
        </button>
        {(isOffered || open !== undefined) && (
          <button
            type="button"
            class="btn"
            disabled={open === undefined ? isBlocked : action.isRunning}
            onClick={() => topup.run('sign')}
          >
            {open === undefined ? t.sign : t.sendAgain}
          </button>
        )}
      </p>
      {isOffered && <p class="note">{t.signNote}</p>}
      <Refusal error={action.error} again={topup.again} />
      <ClaimByHash topup={topup} isBlocked={isBlocked} />
    </>
  )
}

function factsOf(
  pricing: Pricing,
  micro: bigint,
  held: bigint | undefined,
): readonly (readonly [string, string])[] {
  const calls = count(String(callsFor(micro, pricing.perCallUsd)))
  return [
    [t.calls, t.callsAt(calls, `$${pricing.perCallUsd}`)],
    [t.asset, t.assetOn(pricing.assetSymbol, pricing.network)],
    ...(held === undefined
      ? []
      : [[t.inWallet, `${exactUsd(held).slice(1)} ${pricing.assetSymbol}`] as const]),
    [t.payee, pricing.payTo],
    [t.fee, t.feePaid],
  ]
}

function Found(props: { readonly found: FoundTransfer; claim(): void; ignore(): void }) {
  const { found, claim, ignore } = props
  return (
    <State title={texts.payment.found} more={texts.payment.foundMore(exactUsd(found.amount))}>
      <button type="button" class="btn primary small" onClick={claim}>
        {texts.payment.claim}
      </button>
      <button type="button" class="btn small" onClick={ignore}>
        {texts.payment.ignore}
      </button>
    </State>
  )
}

/** For a transfer that is older than the page looks back, or was sent elsewhere. */
function ClaimByHash({ topup, isBlocked }: { readonly topup: Topup; readonly isBlocked: boolean }) {
  const isHash = /^0x[0-9a-f]{64}$/i.test(topup.txHash.trim())
  return (
    <details class="data">
      <summary>{t.sentAlready}</summary>
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault()
          topup.run('claim')
        }}
      >
        <label class="field">
          <span>{t.hash}</span>
          <input
            class="in"
            spellcheck={false}
            placeholder="0x…"
            value={topup.txHash}
            onInput={(event) => topup.setTxHash(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="btn" disabled={isBlocked || !isHash}>
          {texts.payment.claim}
        </button>
      </form>
    </details>
  )
}

function KeyChoice(props: {
  readonly keys: readonly OwnKey[]
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

function ObstacleState({ topup, pricing }: { readonly topup: Topup; readonly pricing: Pricing }) {
  const { obstacle, paid } = topup
  const { assetSymbol: symbol, network } = pricing
  if (obstacle === undefined) return null
  if (obstacle.kind === 'poor')
    return (
      <State
        title={t.poor(symbol)}
        more={t.poorMore(paid, `${exactUsd(obstacle.held).slice(1)} ${symbol}`)}
      />
    )
  if (obstacle.kind === 'unknown')
    return <State title={t.unknown} more={t.unknownMore(obstacle.reason)} />
  if (obstacle.kind === 'network')
    return (
      <State title={t.network(network)} more={t.networkMore(symbol, network)}>
        <button type="button" class="btn primary small" onClick={() => topup.run('change')}>
          {t.switch(network)}
        </button>
      </State>
    )
  const [title, more] = {
    failed: [t.failed, t.failedMore],
    amount: [t.amountWrong, ''],
    busy: [t.busy, t.busyMore],
    found: [t.foundFirst, t.foundFirstMore],
    notThere: [t.notThere(symbol), t.notThereMore(network)],
  }[obstacle.kind] as [string, string]
  return <State title={title} more={more} />
}
