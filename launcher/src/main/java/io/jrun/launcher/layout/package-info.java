/**
 * Which rank runs where. A pure function of the nodes and the number of workers asked for, the same for one node and for
 * many. Entry class: {@code Layout}.
 */
@NullMarked
package io.jrun.launcher.layout;

import org.jspecify.annotations.NullMarked;
