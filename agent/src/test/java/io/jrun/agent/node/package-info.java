/** Tests of this package. */
@NullMarked
package io.jrun.agent.node;

import org.jspecify.annotations.NullMarked;
