#!/bin/sh
# Buys prepaid balance by hand: mints a key, sends USDC, registers the transfer, calls with the key.
#   PRIVATE_KEY=0x… sh examples/prepay.sh
# API is the service, ETH_RPC_URL a node of the payment chain. CAST=cast takes Foundry's own; on the
# local chains set ETH_GAS_PRICE=0.
set -eu
api=${API:-http://localhost:4020}
rpc=${ETH_RPC_URL:-http://127.0.0.1:8545}
cast=${CAST:-node $(dirname "$0")/cast.ts}
usd=${USD:-0.1}

get() { curl --silent --show-error --fail "$@"; }
post() { get --header 'Content-Type: application/json' --data "$2" "$api$1"; }
field() { node -pe "JSON.parse(require('fs').readFileSync(0, 'utf8'))$1"; }

wallet=$($cast wallet address --private-key "$PRIVATE_KEY")

# 1. A key: sign the text that the service gives.
message=$(get "$api/api/keys/message?address=$wallet&action=mint" | field .message)
signature=$($cast wallet sign --private-key "$PRIVATE_KEY" "$message")
quoted=$(node -pe 'JSON.stringify(process.argv[1])' "$message")
minted=$(post /api/keys \
  "{\"ownerAddress\":\"$wallet\",\"signature\":\"$signature\",\"message\":$quoted}")
public_id=$(echo "$minted" | field .key.publicId)
secret=$(echo "$minted" | field .secret)
echo "key $public_id"

# 2. The payment: an ordinary transfer of USDC (six decimals) to the service's wallet.
base_units=$(node -pe "Math.round($usd * 1e6)")
meta=$(get "$api/api/meta")
asset=$(echo "$meta" | field .pricing.asset)
pay_to=$(echo "$meta" | field .pricing.payTo)
tx=$($cast send --private-key "$PRIVATE_KEY" --rpc-url "$rpc" --json \
  "$asset" 'transfer(address,uint256)' "$pay_to" "$base_units" | field .transactionHash)
echo "transaction $tx"

# 3. The claim: which key the transfer is for. The chain says how much it was.
claim=$(post /api/sessions/prepay \
  "{\"apiKeyPublicId\":\"$public_id\",\"txHash\":\"$tx\",\"payerAddress\":\"$wallet\",\"amountUsd\":$usd}")
id=$(echo "$claim" | field .id)
until [ "$(get "$api/api/sessions/prepay/$id?wait=30" | field .verified)" = true ]; do :; done

# 4. The key's free calls come first; calls beyond them are paid from the balance.
call() { get --header "Authorization: Bearer $secret" "$api$1"; }
echo "balance $(call /api/usage | field .prepaidBalanceUsd)"
call /api/burns/total
echo
echo "balance $(call /api/usage | field .prepaidBalanceUsd)"
