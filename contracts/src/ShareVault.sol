// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @title A vault (ERC-4626): its shares are minted at each deposit and burned at each redemption.
contract ShareVault is ERC4626 {
    constructor(address asset_) ERC20("Vault Share", "SHARE") ERC4626(IERC20(asset_)) {}
}
