//! Next moves after changes that were not made.

pub(crate) const CONTENT_TOO_LARGE: &str = "Write the file in parts (a first part with write, the rest with edit); the limit is the host's.";

/// For a tool of a session.
pub(crate) const SESSION_CONTENT_TOO_LARGE: &str =
    "Write the file in parts: a first part with write, the rest with edit.";

pub(crate) const PATCH_TOO_LARGE: &str =
    "Send the hunks in several smaller patches; the limit is the host's.";

pub(crate) const SEVERAL_ROOTS: &str =
    "No file was changed. Make one patch for the files of each directory.";

/// The root directory cannot take the plan of a set.
pub(crate) const ROOT_NOT_WRITABLE: &str = "No file was changed. A patch of several files needs a root directory that can be written to: change each file by edit and write, or have the directory's permission changed.";

pub(crate) const UNKNOWN_OPERATION: &str = "Use create, update or delete.";

pub(crate) const NO_MEMORY: &str = "Give less at once, in several calls.";

/// After a patch whose cells cannot be put back into a notebook.
pub(crate) const CELLS: &str = "No file was changed. Keep the headers of cells as read shows them; a new cell begins with `# %% [code]` or `# %% [markdown]`, without a number.";

/// After cells in place of the JSON of a notebook.
pub(crate) const CELLS_AS_NOTEBOOK: &str = "No file was changed. Change cells of a notebook that exists with an edit or a patch of them; give the JSON of a new one.";

/// After a patch of the outputs of a notebook.
pub(crate) const OUTPUTS: &str = "No file was changed. Outputs are what cells have printed: patch the cell that prints them, and run the notebook.";
