package io.jrun.train.mesh;

/**
 * Copies of the values of parameters, such as the whole parameters that ranks have gathered for a pass. {@link
 * ParameterNotes#setCopies} says of which parameters.
 */
public interface ParameterCopies {
    /** An optimizer has updated some of the parameters. The copies may have old values from now on. */
    void parametersAreUpdated();
}
