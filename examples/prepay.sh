#!/bin/sh
# Buys prepaid balance by hand: mints a key, sends USDC, registers the transfer, calls with the key.
#   PRIVATE_KEY=0x… sh examples/prepay.sh
# API: the service. ETH_RPC_URL: a node of the payment chain. TIMEOUT: seconds to wait for the credit.
# CAST=cast uses Foundry's own cast, with the wallet of ETH_KEYSTORE and ETH_PASSWORD; on the local chains set ETH_GAS_PRICE=0.
set -eu
api=${API:-http://localhost:4020}
rpc=${ETH_RPC_URL:-http://127.0.0.1:8545}
cast=${CAST:-node $(dirname "$0")/cast.js}
usd=${USD:-0.1}
timeout=${TIMEOUT:-300}

fail() { echo "$*" >&2; exit 1; }
# Prints the answer, or the service's reason on stderr.
get() {
  answer=$(curl --silent --show-error --fail-with-body --max-time 60 "$@") || { printf '%s\n' "$answer" >&2; return 1; }
  printf '%s\n' "$answer"
}
post() { get --header 'Content-Type: application/json' --data "$2" "$1"; }
# Prints members of the JSON answer `it`, each as a word.
field() { node -pe "const it = JSON.parse(require('fs').readFileSync(0, 'utf8')); [$1].join(' ')"; }
ask_node() { post "$rpc" "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":$2}" | field it.result; }

wallet=$($cast wallet address)
base_units=$(node -pe "Math.round($usd * 1e6)")

# 1. Check the chain and the balance before paying anything.
meta=$(get "$api/api/meta") || fail "the service at $api does not answer; check API"
terms=$(echo "$meta" | field "it.pricing?.network, it.pricing?.asset, it.pricing?.payTo,
  it.chains.find(({ name }) => name === it.pricing?.network)?.chainId")
set -- $terms
[ $# -eq 4 ] || fail "the service at $api takes no payments"
network=$1 asset=$2 pay_to=$3 wanted=$4
chain=$(ask_node eth_chainId '[]') || fail "the node at ETH_RPC_URL does not answer; check $rpc"
[ $((chain)) -eq "$wanted" ] ||
  fail "the node at ETH_RPC_URL serves chain $((chain)), but payments are on $network ($wanted)"
# balanceOf(address)
question="0x70a08231000000000000000000000000${wallet#0x}"
held=$(ask_node eth_call "[{\"to\":\"$asset\",\"data\":\"$question\"},\"latest\"]") ||
  fail "the node at ETH_RPC_URL did not return the balance of $wallet"
[ "$(node -pe "BigInt('$held') >= ${base_units}n")" = true ] ||
  fail "$wallet holds $(node -pe "Number('$held') / 1e6") USD of $asset, the payment is $usd"

# 2. A key: sign the text that the service returns.
message=$(get "$api/api/keys/message?address=$wallet&action=mint" | field it.message)
signature=$($cast wallet sign "$message")
quoted=$(node -pe 'JSON.stringify(process.argv[1])' "$message")
minted=$(post "$api/api/keys" \
  "{\"ownerAddress\":\"$wallet\",\"signature\":\"$signature\",\"message\":$quoted}")
key=$(echo "$minted" | field 'it.key.publicId, it.secret')
public_id=${key% *} secret=${key#* }
echo "key $public_id"

# 3. The payment: an ordinary transfer of USDC (six decimals) to the service's wallet.
tx=$($cast send --rpc-url "$rpc" --json \
  "$asset" 'transfer(address,uint256)' "$pay_to" "$base_units" | field it.transactionHash)
echo "transaction $tx"

# 4. The claim: which key the transfer is for. The chain says how much it was.
claim=$(post "$api/api/sessions/prepay" \
  "{\"apiKeyPublicId\":\"$public_id\",\"txHash\":\"$tx\",\"payerAddress\":\"$wallet\",\"amountUsd\":$usd}")
id=$(echo "$claim" | field it.id)
deadline=$(($(date +%s) + timeout))
while :; do
  left=$((deadline - $(date +%s)))
  [ "$left" -gt 0 ] || left=0
  claim=$(get "$api/api/sessions/prepay/$id?wait=$((left < 30 ? left : 30))")
  status=$(echo "$claim" | field it.status)
  case $status in
    verified) break ;;
    pending | confirming) [ "$left" -gt 0 ] || fail "not verified after $timeout s: status $status, message $(echo "$claim" | field it.message); check again at $api/api/sessions/prepay/$id" ;;
    *) fail "not verified: status $status, message $(echo "$claim" | field it.message)" ;;
  esac
done

# 5. Free calls are used first; further calls are paid from the balance.
call() { get --header "Authorization: Bearer $secret" "$api$1"; }
echo "balance $(call /api/usage | field it.prepaidBalanceUsd)"
call /api/burns/total
echo "balance $(call /api/usage | field it.prepaidBalanceUsd)"
