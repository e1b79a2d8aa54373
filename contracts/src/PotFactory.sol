// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Pot} from "./Pot.sol";

/// @title Makes pots, each of which pays before and after its factory names it.
contract PotFactory {
    event PotMade(address indexed owner, address pot);

    function make(address to) external {
        Pot pot = new Pot();
        pot.pay(to, 1);
        emit PotMade(msg.sender, address(pot));
        pot.pay(to, 2);
    }
}
