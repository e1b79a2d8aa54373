// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title A wallet that is a contract: its owner signs, in a format of its own or plainly (ERC-1271).
contract ContractWallet is IERC1271 {
    /// @dev A version byte before the owner's 65 bytes.
    bytes1 private constant FORMAT = 0x01;

    address public immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length == 66 && signature[0] == FORMAT) signature = signature[1:];
        (address signer, ECDSA.RecoverError fault,) = ECDSA.tryRecover(hash, signature);
        if (fault != ECDSA.RecoverError.NoError || signer != owner) return 0xffffffff;
        return IERC1271.isValidSignature.selector;
    }
}
