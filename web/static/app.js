// The entry of every page: each module finds its own elements and does nothing where there are none.
import { drawCharts } from "./charts.js";
import { wireActions } from "./actions.js";
import { wireForms } from "./forms.js";
import { wireLive } from "./live.js";
import { wireNavigation } from "./navigation.js";
import { wireThemeToggle } from "./themes.js";
import { wireUpload } from "./upload.js";

wireThemeToggle();
wireNavigation();
wireActions();
wireForms();
wireUpload();
drawCharts();
wireLive();
