import { useEffect, useState } from 'preact/hooks'
import { getPrepayment, type Prepayment, prepay } from 'sexton-client'
import { Banner } from '../parts/banners.tsx'
import { count, shortAddress, usd } from '../parts/format.ts'
import { isInUse, keyless, sexton } from '../state/session.ts'
import { texts } from '../texts.ts'
import { callsFor, exactUsd, hasFailed } from './erc20.ts'
import { forgetPayment, type SentPayment } from './kept-payments.ts'
import { Refusal, State } from './refusal.tsx'
import type { Wallet } from './wallet.ts'

const t = texts.payment

export interface PaymentProps {
  readonly payment: SentPayment
  readonly wallet: Wallet
  /** Decimal dollars. */
  readonly pricePerCall: string
  onCredited(publicId: string): void
  /** The transaction is in a block and did nothing. */
  onFailed(): void
  forget(): void
}

/** How often the wallet is asked whether a transfer failed. */
const LOOK_MS = 2_000

const WAIT_SECONDS = 20

/** Shown block by block up to this depth; deeper ones as a number. */
const CELLS_MAX = 20

/** Claims the transfer for the key and watches it being seen, confirmed and credited. */
export function Payment(props: PaymentProps) {
  const { payment, wallet, pricePerCall, onCredited, onFailed, forget } = props
  const [record, setRecord] = useState<Prepayment>()
  const [failure, setFailure] = useState<unknown>()
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    const stop = new AbortController()
    watch(payment, setRecord, stop.signal).then(
      (last) => {
        forgetPayment(payment.txHash)
        if (last.verified) onCredited(last.apiKeyPublicId)
      },
      (error) => stop.signal.aborted || setFailure(error),
    )
    return () => stop.abort()
  }, [payment.txHash, turn])
  const again = () => {
    setFailure(undefined)
    setTurn((value) => value + 1)
  }
  useFailure(wallet, payment.txHash, onFailed)
  const micro = BigInt(payment.micro)
  const worth = count(String(callsFor(micro, pricePerCall)))
  return (
    <div class="stack">
      <h2 class="sub">
        {t.title} <code class="note">{payment.publicId}</code>
      </h2>
      <p>{t.sum(exactUsd(micro), worth)}</p>
      <Steps record={record} />
      {record !== undefined && <Blocks record={record} />}
      {record?.verified === true ? (
        <Banner kind="good" title={t.done(usd(record.creditedUsd))}>
          {t.doneMore(payment.publicId)}
        </Banner>
      ) : (
        <p class="note">{t.leave}</p>
      )}
      {record !== undefined && record.status in t.refused && (
        <State title={record.message} more={t.refused[record.status as keyof typeof t.refused]}>
          <button type="button" class="btn small" onClick={again}>
            {t.again}
          </button>
        </State>
      )}
      <p class="note">
        {t.transaction} <code title={payment.txHash}>{shortAddress(payment.txHash)}</code>
      </p>
      <Refusal error={failure} again={again} />
      {record?.verified !== true && (
        <p class="acts">
          <button type="button" class="btn small" onClick={forget}>
            {t.forget}
          </button>
        </p>
      )}
    </div>
  )
}

/** Asks the wallet until the transfer is in a block. */
function useFailure(wallet: Wallet, txHash: string, onFailed: () => void): void {
  useEffect(() => {
    const timer = setInterval(async () => {
      const failed = await hasFailed(wallet, txHash).catch(() => undefined)
      if (failed !== undefined) clearInterval(timer)
      if (failed === true) onFailed()
    }, LOOK_MS)
    return () => clearInterval(timer)
  }, [txHash])
}

const OPEN: readonly Prepayment['status'][] = ['pending', 'confirming']

async function watch(
  { publicId, txHash, payer, micro }: SentPayment,
  show: (record: Prepayment) => void,
  signal: AbortSignal,
): Promise<Prepayment> {
  const amountUsd = Number(micro) / 1e6
  const claim = { apiKeyPublicId: publicId, txHash, payerAddress: payer, amountUsd }
  // A key vouches for its own claims; a key of another wallet would be refused.
  let { data: record } = await prepay(isInUse(publicId) ? sexton() : keyless, claim, { signal })
  show(record)
  while (OPEN.includes(record.status)) {
    const seen = `${record.status} ${record.confirmations}`
    // A long poll answers when the payment ends; blocks in between are worth a look too.
    const wait = record.status === 'pending' ? WAIT_SECONDS : 1
    record = (await getPrepayment(keyless, { idOrTxHash: record.id, wait }, { signal })).data
    show(record)
    if (`${record.status} ${record.confirmations}` === seen) await pause(1_000, signal)
  }
  return record
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

function Steps({ record }: { readonly record: Prepayment | undefined }) {
  const { confirmations = 0, requiredConfirmations = 0 } = record ?? {}
  const seen = record !== undefined && record.status !== 'pending'
  const done = record?.verified === true
  const of = record === undefined ? '' : t.of(confirmations, requiredConfirmations)
  return (
    <ol class="steps">
      <li class="done">
        <b>{t.steps.signed}</b>
        {t.inWallet}
      </li>
      <li class={seen ? 'done' : 'now'}>
        <b>{t.steps.seen}</b>
        {seen ? '' : t.waiting}
      </li>
      <li class={done ? 'done' : seen ? 'now' : ''}>
        <b>{t.steps.confirming}</b>
        {of}
      </li>
      <li class={done ? 'done' : ''}>
        <b>{t.steps.credited}</b>
      </li>
    </ol>
  )
}

/** A cell per confirmation. */
function Blocks({ record }: { readonly record: Prepayment }) {
  const { confirmations, requiredConfirmations: all } = record
  if (all === 0 || all > CELLS_MAX) return null
  return (
    <ol class="blocks" aria-label={t.blocks(confirmations, all)}>
      {Array.from({ length: all }, (_, index) => index + 1).map((number) => (
        <li key={number} class={number <= confirmations ? 'on' : ''}>
          {number}
        </li>
      ))}
    </ol>
  )
}
