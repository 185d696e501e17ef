/** Finds the resources of this machine for workers: cores, memory, devices, ports. Entry class: {@code NodeProbe}. */
@NullMarked
package io.jrun.agent.node;

import org.jspecify.annotations.NullMarked;
