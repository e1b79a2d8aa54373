import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { payUsdc, transfer } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { ChainClient } from '#devnet/chain-client.ts'
import { units } from '#devnet/units.ts'
import { eventually } from '#test/world.ts'

type Account = ReturnType<typeof privateKeyToAccount>

/** A key as its owner holds it. */
export interface OwnedKey {
  readonly publicId: string
  readonly secret: string
}

/** A wallet of a caller, and what its owner does at the service. */
export interface Owner {
  readonly account: Account
  mint(url: string): Promise<OwnedKey>
  rotate(url: string, key: OwnedKey): Promise<OwnedKey>
  revoke(url: string, key: OwnedKey): Promise<void>
  /** Sends USDC to the operator; gives the transaction's hash. */
  pay(base: ChainClient, microUsd: bigint): Promise<string>
  /** Claims a payment for a key; gives the prepayment's id. */
  claim(url: string, input: ClaimInput): Promise<string>
}

export interface ClaimInput {
  readonly key: OwnedKey
  readonly txHash: string
  readonly microUsd: bigint
}

/** Over the gate at any price of the local market, far below the premium share. */
const SHARE = { grave: units(6_000), crypt: units(250) }

/** Over 0.1 % of the secondary token's supply on base. */
const PREMIUM_SHARE = units(15_000)

/** Makes a wallet that holds enough to mint keys. */
export async function makeOwner(base: ChainClient): Promise<Owner> {
  const account = privateKeyToAccount(generatePrivateKey())
  const to = account.address
  await transfer(base, { token: 'grave', to, amount: SHARE.grave })
  await transfer(base, { token: 'crypt', to, amount: SHARE.crypt })
  return ownerOf(account)
}

/** Makes a wallet premium, a few blocks later. */
export async function makePremium(base: ChainClient, owner: Owner): Promise<void> {
  const to = owner.account.address
  await transfer(base, { token: 'crypt', to, amount: PREMIUM_SHARE })
}

/** Until the index has seen what a new wallet holds, and a second for each further key is over. */
const MINTED_MS = 20_000

/** Mints a key, again and again while the wallet's holdings are not indexed or its message is used. */
export function mintSoon(owner: Owner, url: string): Promise<OwnedKey> {
  return eventually(
    () =>
      owner.mint(url).catch((error: unknown) => {
        const isEarly =
          error instanceof UnexpectedAnswer && [403, 409, 429, 503].includes(error.status)
        if (isEarly) return undefined
        throw error
      }),
    MINTED_MS,
  )
}

function ownerOf(account: Account): Owner {
  const ownerAddress = account.address
  return {
    account,
    async mint(url) {
      const { message } = await ask(
        `${url}/api/keys/message?address=${ownerAddress}&action=mint`,
        200,
      )
      const signature = await account.signMessage({ message })
      const minted = await post(`${url}/api/keys`, 201, { ownerAddress, signature, message })
      return { publicId: minted.key.publicId, secret: minted.secret }
    },
    async rotate(url, key) {
      const path = `/api/keys/${key.publicId}/rotate`
      const made = await post(url + path, 201, {}, key.secret)
      return { publicId: made.key.publicId, secret: made.secret }
    },
    async revoke(url, key) {
      await post(`${url}/api/keys/${key.publicId}/revoke`, 200, {}, key.secret)
    },
    pay: (base, amount) => payUsdc(base, { from: ownerAddress, to: accounts.payTo, amount }),
    async claim(url, { key, txHash, microUsd }) {
      const body = {
        apiKeyPublicId: key.publicId,
        txHash,
        payerAddress: ownerAddress,
        amountUsd: Number(microUsd) / 1e6,
      }
      return (await post(`${url}/api/sessions/prepay`, [200, 201], body)).id
    },
  }
}

function post(url: string, status: number | readonly number[], body: unknown, secret?: string) {
  return ask(url, status, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
    },
    body: JSON.stringify(body),
  })
}

/** Asks and gives the body; throws on any other status. */
export async function ask(
  url: string,
  status: number | readonly number[],
  init?: RequestInit,
  // biome-ignore lint/suspicious/noExplicitAny: the OpenAPI tests hold the shapes of answers.
): Promise<any> {
  const answer = await fetch(url, init)
  const text = await answer.text()
  if (![status].flat().includes(answer.status)) throw new UnexpectedAnswer(url, answer.status, text)
  return JSON.parse(text)
}

export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer'
  readonly status: number

  constructor(url: string, status: number, text: string) {
    super(`${url} answered ${status}: ${text}`)
    this.status = status
  }
}
