/** What this machine has for workers: cores, memory, devices, ports. Entry: {@link io.jrun.agent.node.NodeProbe}. */
@NullMarked
package io.jrun.agent.node;

import org.jspecify.annotations.NullMarked;
