package io.jrun.agent.image.pull;

/**
 * A user of a registry.
 *
 * @param source the file of the credential, for messages
 */
record Credential(String user, String password, String source) {
    @Override
    public String toString() {
        return user + " of " + source;
    }
}
