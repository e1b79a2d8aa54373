import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { getSelector } from 'ox/AbiEvent'
import { encodeData, from as parseFunction } from 'ox/AbiFunction'
import { askContractWallet } from '#chains/chain/contract-signature.ts'
import { parseAddress, parseHash, showAddress } from '#domain/address.ts'
import { parseSignature } from '#domain/signature.ts'
import { isObject } from '#lib/json.ts'
import type { PaymentFault } from '../../faults.ts'
import type { Scheme, Signed } from '../scheme.ts'
import { digestOf, isSignedByKey } from './authorization.ts'
import { provePayingWays } from './ways.ts'

/**
 * One EIP-3009 transfer of exactly the offered amount, signed by a key or by a deployed contract
 * wallet (ERC-1271).
 */
export const exact: Scheme = {
  name: 'exact',
  // Clients pay before they are served. Some look the type up elsewhere if it is missing.
  extra: ({ domain }) => ({
    ...domain,
    paymentFlow: 'upfront',
    primaryType: 'TransferWithAuthorization',
  }),
  read: readPayload,
  write: ({ authorization, signature }) => ({
    signature,
    authorization: {
      from: showAddress(authorization.from),
      to: showAddress(authorization.to),
      value: String(authorization.value),
      validAfter: String(authorization.validAfter),
      validBefore: String(authorization.validBefore),
      nonce: authorization.nonce,
    },
  }),
  checkSignature,
  proveWays: provePayingWays,
  events: {
    used: getSelector('event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)'),
    cancelled: getSelector(
      'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
    ),
    stateCall: ({ from, nonce }) => encodeData(authorizationState, [from, nonce]),
  },
  embed(signer) {
    return new ExactEvmScheme(signer, { pendingSettlementStore: FORGETFUL })
  },
}

/** Our rows remember what is pending; the library would send nothing again for five minutes. */
const FORGETFUL = {
  get: async () => undefined,
  set: async () => undefined,
  delete: async () => undefined,
}

const authorizationState = parseFunction(
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
)

function readPayload(payload: unknown): Signed | PaymentFault {
  if (!isObject(payload)) return 'invalid_payload'
  if (payload.permit2Authorization !== undefined) return 'unsupported_payload_type'
  if (!isObject(payload.authorization)) return 'invalid_payload'
  const { from, to, value, validAfter, validBefore, nonce } = payload.authorization
  const [payer, payTo] = [toText(from, parseAddress), toText(to, parseAddress)]
  const [amount, after, before] = [value, validAfter, validBefore].map((each) =>
    toText(each, parseUint),
  )
  const hash = toText(nonce, parseHash)
  if (payer === undefined || payTo === undefined || hash === undefined) return 'invalid_payload'
  if (amount === undefined || after === undefined || before === undefined) return 'invalid_payload'
  const signature = toText(payload.signature, parseBytes)
  if (signature === undefined) return 'invalid_exact_evm_payload_signature'
  const authorization = {
    from: payer,
    to: payTo,
    value: amount,
    validAfter: after,
    validBefore: before,
    nonce: hash,
  }
  return { authorization, signature }
}

function toText<T>(value: unknown, parse: (text: string) => T | undefined): T | undefined {
  return typeof value === 'string' ? parse(value) : undefined
}

const UINT = /^(0|[1-9][0-9]{0,77})$/

function parseUint(text: string): bigint | undefined {
  if (!UINT.test(text)) return undefined
  const value = BigInt(text)
  return value < 2n ** 256n ? value : undefined
}

/** 2 KB. The gas for the check ends at fewer owners. */
const BYTES = /^0x(?:[0-9a-f]{2}){1,2048}$/

/** Writes a key's signature in its usual form, with v of 27 or 28. */
function parseBytes(text: string): `0x${string}` | undefined {
  const hex = text.toLowerCase()
  if (!BYTES.test(hex)) return undefined
  return parseSignature(hex) ?? (hex as `0x${string}`)
}

const KEY_SIGNATURE_LENGTH = 132

/** A contract that burns more could not pay either. */
const WALLET_GAS = 150_000n

async function checkSignature(
  { rpc, payment }: Parameters<Scheme['checkSignature']>[0],
  signed: Signed,
): Promise<PaymentFault | undefined> {
  const { chain, asset, domain } = payment
  const digest = digestOf({ chainId: chain.id, asset, domain }, signed.authorization)
  if (isSignedByKey(digest, signed)) return undefined
  const { signature, authorization } = signed
  const asked = { wallet: authorization.from, digest, signature, gas: WALLET_GAS }
  const answer = await askContractWallet(rpc, asked)
  if (answer === 'signed') return undefined
  return answer === 'undeployed' && signature.length > KEY_SIGNATURE_LENGTH
    ? 'invalid_exact_evm_payload_undeployed_smart_wallet'
    : 'invalid_exact_evm_payload_signature'
}
