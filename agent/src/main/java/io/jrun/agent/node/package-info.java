/** What this machine has for workers: cores, memory, devices, ports. Entry: {@code NodeProbe}. */
@NullMarked
package io.jrun.agent.node;

import org.jspecify.annotations.NullMarked;
