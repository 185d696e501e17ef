/** Tests of this package. */
@NullMarked
package io.jrun.agent.job;

import org.jspecify.annotations.NullMarked;
