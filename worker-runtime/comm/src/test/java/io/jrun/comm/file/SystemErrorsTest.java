package io.jrun.comm.file;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SystemErrorsTest {
    @Test
    void errorsHaveTheWordsOfTheCLibrary() {
        assertThat(SystemErrors.words(30)).isEqualTo("Read-only file system");
        assertThat(SystemErrors.words(4242)).contains("4242");
    }
}
