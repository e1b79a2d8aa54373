import { useEffect, useState } from 'preact/hooks'
import type { Pricing, Service } from 'sexton-client'
import {
  balanceOf,
  exactUsd,
  type FoundTransfer,
  hasPending,
  sendTransfer,
  toMicro,
  transferIn,
} from './erc20.ts'
import { forgetPayment, keepPayment, keptPayments } from './kept-payments.ts'
import { useAction } from './use-action.ts'
import { type Found, useFound } from './use-found.ts'
import type { OwnKey } from './use-keys.ts'
import { chainIdOf, switchChain, type Wallet, WalletError } from './wallet.ts'
import { type Authorization, isSettling, settle, signPayment, unsettled } from './x402.ts'

const LEAST = 10_000n
const MOST = 1_000_000_000n

export interface TopupProps {
  readonly wallet: Wallet
  readonly service: Service
  readonly pricing: Pricing
  /** Active ones. */
  readonly keys: readonly OwnKey[]
  onCredited(publicId: string): void
}

/** What stands between the person and the payment. */
export type Obstacle =
  | { readonly kind: 'network' | 'amount' | 'failed' | 'busy' | 'found' | 'notThere' }
  | { readonly kind: 'poor'; readonly held: bigint }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Faults after which a transfer may have been sent. */
const UNCLEAR: readonly string[] = ['other', 'late']

type Step = 'send' | 'sign' | 'claim' | 'change'

/** What is chosen, under way and in the way; nothing is sent before the wallet was looked at. */
export function useTopup({ wallet, service, pricing, keys, onCredited }: TopupProps) {
  const { asset, payTo: to } = pricing
  const chain = service.chains.find(({ name }) => name === pricing.network)
  const chainId = chain?.chainId ?? 0
  const [amount, setAmount] = useState('5')
  const [publicId, setPublicId] = useState<string>()
  const [txHash, setTxHash] = useState('')
  const [obstacle, setObstacle] = useState<Obstacle>()
  const [last, setLast] = useState<Step>()
  const action = useAction()
  const held = useHeld(wallet, chainId, asset)
  const authorization = useAuthorization(onCredited)
  const key = keys.find((each) => each.publicId === publicId)?.publicId ?? keys[0]?.publicId
  const micro = toMicro(amount) ?? 0n
  const ownKeys = keys.map((each) => each.publicId)
  const found = useFound({ wallet, pricing, chainId, ownKeys })
  const payments = usePayments(found)
  const obstacleBefore = (step: Step) =>
    obstacleOf(step, { wallet, micro, chainId, asset, unclaimed: payments.unclaimed })
  const steps: Readonly<Record<Step, (own: string) => Promise<Obstacle | undefined>>> = {
    async send(own) {
      const inTheWay = await obstacleBefore('send')
      if (inTheWay !== undefined) return inTheWay
      try {
        const hash = await sendTransfer(wallet, { chainId, asset, to, amount: micro })
        payments.follow(own, { txHash: hash, amount: micro, payer: wallet.address })
      } catch (error) {
        if (!(error instanceof WalletError) || !UNCLEAR.includes(error.fault)) throw error
        return { kind: 'unknown', reason: error.message }
      }
    },
    async sign(own) {
      const known = unsettled()
      const inTheWay = known === undefined ? await obstacleBefore('sign') : undefined
      if (inTheWay !== undefined) return inTheWay
      const input = { usd: amount.trim(), amount: micro, publicId: own }
      await authorization.pay(known ?? (await signPayment(wallet, input)))
    },
    async claim(own) {
      if ((await chainIdOf(wallet)) !== chainId) return { kind: 'network' }
      const transfer = await transferIn(wallet, { asset, to, txHash: txHash.trim().toLowerCase() })
      if (transfer === undefined) return { kind: 'notThere' }
      setTxHash('')
      payments.follow(own, transfer)
    },
    async change() {
      if (chain !== undefined) await switchChain(wallet, chain)
    },
  }
  const run = (step: Step) => {
    setLast(step)
    authorization.clear()
    setObstacle(undefined)
    action.run(async () => setObstacle(await steps[step](key ?? '')))
  }
  return {
    ...{ amount, setAmount, key, setPublicId, micro, obstacle, setObstacle, txHash, setTxHash },
    ...{ action, authorization, payments, run },
    held,
    paid: exactUsd(micro),
    // By name: what was chosen meanwhile counts.
    again: () => last !== undefined && run(last),
  }
}

/** Undefined while the wallet is on another network. */
function useHeld(wallet: Wallet, chainId: number, asset: string): bigint | undefined {
  const [held, setHeld] = useState<bigint>()
  useEffect(() => {
    const look = async () =>
      (await chainIdOf(wallet)) === chainId ? balanceOf(wallet, asset) : undefined
    look().then(setHeld, () => setHeld(undefined))
  }, [wallet, chainId])
  return held
}

/** Transfers that are watched, and those that could be. */
function usePayments(found: Found) {
  const [shown, setShown] = useState(keptPayments)
  const [isAdding, setAdding] = useState(false)
  const isNew = ({ txHash }: FoundTransfer) => shown.every((each) => each.txHash !== txHash)
  return {
    shown,
    isAdding,
    found: found.transfers.filter(isNew),
    ignore: found.ignore,
    async unclaimed() {
      return (await found.look().catch(() => [])).filter(isNew)
    },
    follow(publicId: string, { txHash, payer, amount }: FoundTransfer) {
      const payment = { txHash, publicId, payer, micro: String(amount) }
      keepPayment(payment)
      found.ignore(txHash)
      setAdding(false)
      setShown((known) => [payment, ...known.filter((each) => each.txHash !== txHash)])
    },
    drop(txHash: string) {
      forgetPayment(txHash)
      setShown((known) => known.filter((each) => each.txHash !== txHash))
    },
    /** What has ended leaves the page. */
    add() {
      const open = keptPayments().map(({ txHash }) => txHash)
      setShown((known) => known.filter(({ txHash }) => open.includes(txHash)))
      setAdding(true)
    },
  }
}

/** A signed payment whose outcome is not known is paid again; another one is not signed meanwhile. */
function useAuthorization(onCredited: TopupProps['onCredited']) {
  const [open, setOpen] = useState(unsettled)
  const [isOffered, setOffered] = useState(false)
  const [credited, setCredited] = useState<{ readonly usd: number; readonly key: string }>()
  useEffect(() => {
    isSettling().then(setOffered, () => setOffered(false))
  }, [])
  return {
    open,
    isOffered,
    credited,
    clear: () => setCredited(undefined),
    async pay(authorization: Authorization) {
      setOpen(authorization)
      try {
        const { creditedUsd } = await settle(authorization)
        setCredited({ usd: creditedUsd, key: authorization.publicId })
        onCredited(authorization.publicId)
      } finally {
        setOpen(unsettled())
      }
    },
  }
}

async function obstacleOf(
  step: Step,
  input: {
    readonly wallet: Wallet
    readonly micro: bigint
    readonly chainId: number
    readonly asset: string
    unclaimed(): Promise<readonly FoundTransfer[]>
  },
): Promise<Obstacle | undefined> {
  const { wallet, micro, chainId, asset, unclaimed } = input
  if (micro < LEAST || micro > MOST) return { kind: 'amount' }
  if ((await chainIdOf(wallet)) !== chainId) return { kind: 'network' }
  const held = await balanceOf(wallet, asset)
  if (held < micro) return { kind: 'poor', held }
  if (step === 'sign') return undefined
  // A transfer that the wallet did not tell of must not be sent a second time.
  if (await hasPending(wallet)) return { kind: 'busy' }
  return (await unclaimed()).length > 0 ? { kind: 'found' } : undefined
}
