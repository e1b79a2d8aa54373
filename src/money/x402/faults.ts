/**
 * Why a payment is answered with 402, in words. Codes of the x402 specification or of its reference
 * implementation where they have one.
 */
export const FAULTS = {
  invalid_payload: 'the header is not one x402 payment in base64 JSON',
  invalid_x402_version: 'x402Version must be 2 in PAYMENT-SIGNATURE and 1 in X-PAYMENT',
  invalid_scheme: 'the scheme is not among those offered',
  invalid_network: 'the network is not the one offered',
  invalid_payment_requirements: 'the accepted requirements are not one of the offers',
  unsupported_payload_type:
    'only EIP-3009 authorizations are accepted, because no event ties a Permit2 transfer to its payment',
  invalid_exact_evm_payload_recipient_mismatch: 'the authorization pays another address',
  invalid_exact_evm_payload_authorization_value_mismatch:
    'the authorization is not for the exact amount of an offer',
  invalid_exact_evm_payload_authorization_valid_after: 'the authorization is not valid yet',
  invalid_exact_evm_payload_authorization_valid_before:
    'the authorization has expired, or has less than ten seconds left',
  invalid_exact_evm_payload_authorization_valid_before_too_late:
    'the authorization is valid for more than an hour',
  invalid_exact_evm_payload_signature: 'the payer did not sign this authorization',
  invalid_exact_evm_payload_undeployed_smart_wallet:
    'the paying contract wallet is not deployed; deploy it first, for example by a transaction of its own',
  insufficient_funds: 'the payer holds less than the amount',
  invalid_transaction_state:
    'the transfer fails on the chain: the payer withdrew it, or the asset refuses it',
  settlement_unavailable:
    'payments cannot be settled at the moment; nothing was sent. Try again later',
  payer_waits:
    'a settlement of this wallet failed on the chain within the last day, at the cost of the service; pay from another wallet, or by transfer',
} as const

export type PaymentFault = keyof typeof FAULTS

export function isFault(text: string): text is PaymentFault {
  return Object.hasOwn(FAULTS, text)
}
