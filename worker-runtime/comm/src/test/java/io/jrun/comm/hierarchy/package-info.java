/** Tests of the computations of the data plane of several nodes. Other tests run whole worlds. */
@NullMarked
package io.jrun.comm.hierarchy;

import org.jspecify.annotations.NullMarked;
